#!/bin/sh
# Runs a compiler under ccache. A precompiled header is compiled as if there were no earlier one: ccache would take
# that for its contents, and find what another folder, with other changes, once made of the same earlier one.
previous=
for argument; do
  case "$previous $argument" in "-o "*.gch) rm -f "$argument" ;; esac
  previous=$argument
done
exec ccache "$@"
