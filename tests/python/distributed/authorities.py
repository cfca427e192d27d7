"""Authorities, and certificates that they sign, for tests of who trusts whom; by the command `openssl`."""

import datetime
import subprocess

_CONFIGURATION = """
[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = names
[names]
commonName = supplied
[process]
subjectAltName = IP:127.0.0.1
"""
_NEW = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Authority:
    """Its folder, which it makes, has one with ca.pem, cert.pem and key.pem for each whom it certifies."""

    def __init__(self, folder):
        folder.mkdir()
        self._folder = folder
        (folder / "configuration").write_text(_CONFIGURATION)
        (folder / "index").touch()
        self._run("req", "-x509", *_NEW, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority")

    def certify(self, name, days=1):
        """`days`: until it expires; below 0: it has."""
        now = datetime.datetime.now(datetime.timezone.utc)
        begin, end = (now + datetime.timedelta(days=days + one) for one in (-2, 0))
        dates = [f"{one:%Y%m%d%H%M%SZ}" for one in (begin, end)]
        made = self._folder / name
        made.mkdir()
        (made / "ca.pem").write_bytes((self._folder / "ca.pem").read_bytes())
        self._run("req", *_NEW, "-keyout", f"{name}/key.pem", "-out", "request", "-subj", f"/CN={name}")
        sign = [
            "ca",
            "-batch",
            "-notext",
            "-config",
            "configuration",
            "-keyfile",
            "ca.key",
            "-cert",
            "ca.pem",
        ]
        sign += ["-startdate", dates[0], "-enddate", dates[1], "-extensions", "process"]
        self._run(*sign, "-in", "request", "-out", f"{name}/cert.pem")
        return made

    def _run(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self._folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
