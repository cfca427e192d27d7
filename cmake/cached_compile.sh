#!/bin/sh
# Runs a compiler under ccache. A precompiled header is compiled as if there were no earlier one: ccache would take
# that for its contents, and find what another folder, with other changes, once made of the same earlier one. It is
# known by the files that it is made of, byte by byte, which it remembers itself, and not by what they amount to: a
# comment that changed makes another one.
previous=
for argument; do
  case "$previous $argument" in
    "-o "*.gch)
      rm -f "$argument"
      export CCACHE_DEPEND=1 CCACHE_NAMESPACE=precompiled
      ;;
  esac
  previous=$argument
done
exec ccache "$@"
