#!/bin/sh
# Contract: every shader stage, with its includes resolved, is valid GLSL 330 core to the reference compiler.
#
#   shaders.sh MAREY_EMBED SHADER_DIR GLSLANG
set -u
embed=$1
dir=$2
glslang=${3:-}
if [ ! -x "$glslang" ]; then
    echo "skipped: no glslangValidator (Debian: glslang-tools)"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0
for stage in "$dir"/*.vert "$dir"/*.frag; do
    name=$(basename "$stage")
    "$embed" --resolve "$dir" "$name" >"$out/$name" || bad=1
    "$glslang" "$out/$name" >"$out/log" || { cat "$out/log"; bad=1; }
done
exit $bad
