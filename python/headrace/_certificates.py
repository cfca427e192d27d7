"""Certificates of a job: an authority of its own, and one by which its processes know each other."""

import pathlib
import shutil
import subprocess

DAYS = 30  # that a job may take
_NAME = "headrace"  # that every certificate of a job is made for, whatever machine it is used on
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
_VALID = ["-days", str(DAYS)]


def make_certificates(folder):
    """Writes ca.pem, cert.pem and key.pem into a folder, by the command `openssl`.

    The authority's own key is not kept, so nobody can make further certificates of the job. OSError: there is
    no openssl, or it failed.
    """
    if shutil.which("openssl") is None:
        raise OSError("there is no openssl to make certificates with (Debian: apt install openssl)")
    folder = pathlib.Path(folder)
    extension, authority_key, request = (folder / name for name in ("extension", "ca.key", "request"))
    extension.write_text(f"subjectAltName=DNS:{_NAME}\n")
    try:
        for arguments in (
            [
                "req",
                "-x509",
                *_KEY,
                *_VALID,
                "-keyout",
                authority_key.name,
                "-out",
                "ca.pem",
                "-subj",
                "/CN=job",
            ],
            ["req", *_KEY, "-keyout", "key.pem", "-out", request.name, "-subj", f"/CN={_NAME}"],
            ["x509", "-req", "-in", request.name, "-CA", "ca.pem", "-CAkey", authority_key.name, *_VALID]
            + ["-set_serial", "2", "-out", "cert.pem", "-extfile", extension.name],
        ):
            subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise OSError(f"openssl failed: {error.stderr.decode(errors='replace').strip()}") from None
    finally:
        for file in (extension, authority_key, request):
            file.unlink(missing_ok=True)
