"""Ports for servers that are about to start."""

import socket

import pytest

from headrace import _ports
from headrace._ports import free_ports


def test_ports_differ_and_nobody_uses_them():
    found = free_ports(20)
    assert len(set(found)) == 20
    for port in found:
        socket.create_server(("", port)).close()


def test_none_are_asked_for():
    assert free_ports(0) == []


def test_ports_are_none_that_connections_may_get(tmp_path, monkeypatch):
    kept = tmp_path / "range"
    kept.write_text("20000\t60999\n")
    monkeypatch.setattr(_ports, "_RANGE_OF_SYSTEM", kept)
    assert all(10000 <= port < 20000 for port in free_ports(20))


@pytest.mark.parametrize("text", ["1024 60999", "", "nothing"])
def test_where_the_system_has_them_all_it_chooses(tmp_path, monkeypatch, text):
    kept = tmp_path / "range"
    kept.write_text(text)
    monkeypatch.setattr(_ports, "_RANGE_OF_SYSTEM", kept)
    assert len(set(free_ports(3))) == 3


def test_a_port_in_use_is_not_given(monkeypatch):
    with socket.create_server(("", free_ports(1)[0])) as used:
        taken = used.getsockname()[1]
        monkeypatch.setattr(_ports, "_in_any_order", lambda: [taken])
        assert free_ports(1) != [taken]
