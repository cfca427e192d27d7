"""Certificates of a job: an authority of its own, and one by which its processes know each other."""

import pathlib
import shutil
import subprocess
import tempfile
import time

DAYS = 30  # that a job may take; and that the clock of a machine may be behind
_SECONDS_OF_A_DAY = 86_400
_NAME = "headrace"  # that every certificate of a job is made for, whatever machine it is used on
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
# Of `openssl ca`, the one command of all versions that lets a certificate be valid before it is made.
_CONFIGURATION = f"""
[ca]
default_ca = job
[job]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = names
[names]
commonName = supplied
[authority]
basicConstraints = critical, CA:true
subjectKeyIdentifier = hash
[process]
subjectAltName = DNS:{_NAME}
"""


def make_certificates(folder):
    """Writes ca.pem, cert.pem and key.pem into a folder, by the command `openssl`.

    The authority's own key is not kept, so nobody can make further certificates of the job. OSError: there is
    no openssl, or it failed.
    """
    if shutil.which("openssl") is None:
        raise OSError("there is no openssl to make certificates with (Debian: apt install openssl)")
    folder = pathlib.Path(folder)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        inside = pathlib.Path(name)
        (inside / "configuration").write_text(_CONFIGURATION)
        (inside / "index").touch()
        sign = ["ca", "-batch", "-notext", "-config", "configuration", "-keyfile", "ca.key", *_validity()]
        for arguments in (
            ["req", *_KEY, "-keyout", "ca.key", "-out", "ca.request", "-subj", "/CN=job"],
            [*sign, "-selfsign", "-extensions", "authority", "-in", "ca.request", "-out", "ca.pem"],
            ["req", *_KEY, "-keyout", "key.pem", "-out", "request", "-subj", f"/CN={_NAME}"],
            [*sign, "-cert", "ca.pem", "-extensions", "process", "-in", "request", "-out", "cert.pem"],
        ):
            _run(arguments, inside)
        for made in ("ca.pem", "cert.pem", "key.pem"):
            (inside / made).replace(folder / made)


def _validity():
    begin, end = (time.gmtime(time.time() + days * _SECONDS_OF_A_DAY) for days in (-DAYS, DAYS))
    dates = [time.strftime("%Y%m%d%H%M%SZ", one) for one in (begin, end)]
    return ["-startdate", dates[0], "-enddate", dates[1]]


def _run(arguments, folder):
    try:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise OSError(f"openssl failed: {error.stderr.decode(errors='replace').strip()}") from None
