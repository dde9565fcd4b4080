#!/bin/sh
# Every damaged or odd input of tools/make_hostile is converted, or refused with one clear sentence.
#
# For each: no crash, no hang, the exit code that is written beside it; refused means a message of one line that names the
# file, and no output; converted means a file that `marey info --json` reads, with the losses counted by name; nothing else
# is left in the output's folder. Then the same for what is no file of a profiler at all: folders without traces, damaged
# files of marey's own, places that can't be written, a full disk.
#
#   bad_input.sh MAREY SOURCE_DIR
set -u
marey=$1
source=$2
python=/usr/bin/python3
[ -x $python ] || python=python3
work=$(mktemp -d "${TMPDIR:-/tmp}/marey-bad-XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
failed=0
checked=0

fail() {
    echo "FAILED: $1"
    [ -s "$work/err" ] && sed 's/^/    /' "$work/err" | cut -c1-300 | head -5
    failed=$((failed + 1))
}

# Runs the converter into a folder of its own. Sets code.
convert() {
    rm -rf "$work/out"
    mkdir "$work/out"
    timeout 120 "$marey" convert "$@" -o "$work/out/run.h5" --quiet >"$work/stdout" 2>"$work/err"
    code=$?
    checked=$((checked + 1))
}

# What lies in the output's folder, in one line.
left() {
    ls -A "$work/out" | tr '\n' ' '
}

refused() { # what
    [ "$code" = 1 ] || fail "$1: exit $code, not 1"
    [ "$(wc -l <"$work/err")" = 1 ] || fail "$1: $(wc -l <"$work/err") lines of message, not 1"
    [ -z "$(left)" ] || fail "$1: left behind: $(left)"
}

converted() { # what, losses
    [ "$code" = 0 ] || { fail "$1: exit $code, not 0"; return; }
    [ "$(left)" = "run.h5 " ] || fail "$1: left behind: $(left)"
    "$marey" info "$work/out/run.h5" --json >"$work/info.json" 2>"$work/err" || fail "$1: info says exit $?"
    $python - "$work/info.json" "$2" 2>"$work/err" <<'EOF' || fail "$1: $(tail -1 "$work/err")"
import json
import sys
info = json.load(open(sys.argv[1]))
found = {loss['code'] for loss in info['losses']}
wanted = set(sys.argv[2].split(',')) - {'-'}
if wanted and not wanted & found:
    sys.exit('none of %s among the losses %s' % (sorted(wanted), sorted(found)))
placeless = {'unreadable', 'limit', 'no-events'} # no record's own
for loss in info['losses']:
    if loss['first_offset'] is None and loss['code'] not in placeless:
        sys.exit('no offset of %s' % loss['code'])
EOF
}

either() { # what
    case $code in
    0) converted "$1" - ;;
    1) refused "$1" ;;
    *) fail "$1: exit $code" ;;
    esac
}

$python "$source/tools/make_hostile" "$work/inputs" >/dev/null || exit 1
tab=$(printf '\t')
while IFS="$tab" read -r name want losses; do
    convert "$work/inputs/$name"
    case $want in
    0) converted "$name" "$losses" ;;
    1) refused "$name"
       grep -q "$name" "$work/err" || fail "$name: the message does not name the file" ;;
    *) either "$name" ;;
    esac
done <"$work/inputs/expect.tsv"

# All together: what can be read is, in one file, and the rest is told.
convert "$work/inputs"
[ "$code" = 0 ] || fail "the folder of all of them: exit $code"
[ "$(left)" = "run.h5 " ] || fail "the folder of all of them: left behind: $(left)"

mkdir "$work/empty" "$work/texts"
echo "notes" >"$work/texts/notes.txt"
echo '{"a": 1}' >"$work/texts/package.json"
convert "$work/empty"
refused "an empty folder"
convert "$work/texts"
refused "a folder without traces"
convert "$work/missing.json"
refused "a file that is not there"

# A rank whose file is empty, cut or damaged is named and counted, in a folder and in an archive; other files are not.
$python - "$work/ranks" "$work/ranks.zip" "$work/inputs/chinese.json" <<'EOF'
import gzip
import os
import sys
import zipfile
folder, archive, good = sys.argv[1:]
os.mkdir(folder)
text = open(good, 'rb').read()
packed = gzip.compress(text, mtime=0)
damaged = packed[:12] + b'\xff' * 30 + packed[42:]
files = {'rank0.json': text, 'rank1.json': b'', 'rank2.json.gz': damaged, 'rank3.json.gz': packed[:7],
         'rank4.json': b'{"schemaVersion": 1, "tr', 'package.json': b'{"name": "x"}', 'notes.txt': b''}
for name, data in files.items():
    open(os.path.join(folder, name), 'wb').write(data)
with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED) as z:
    for name in ('a/rank0.json', 'a/rank1.json'):
        z.writestr(name, text)
data = bytearray(open(archive, 'rb').read())
data[60] ^= 0xff
open(archive, 'wb').write(data)
EOF
for case in "ranks 4" "ranks.zip 1"; do
    convert "$work/${case% *}"
    converted "${case% *}" unreadable
    "$marey" convert "$work/${case% *}" -o "$work/again.h5" 2>"$work/err"
    named=$(grep -c "passed over" "$work/err")
    [ "$named" = "${case#* }" ] || fail "${case% *}: $named files are named as passed over, not ${case#* }"
done

# Files of marey's own, damaged: read or refused, never worse, and in words of its own.
"$marey" synth "$work/good.h5" --preset resnet50 --ranks 2 --steps 2 --quiet || fail "synth writes a good file"
size=$(wc -c <"$work/good.h5")
draw=info # where there is no viewer, the same question again
"$marey" render --help >/dev/null 2>&1 && draw="render -o $work/bad.png --size 320x200"
own() { # what
    for answer in "info $work/bad.h5 --json" "grid $work/bad.h5 --bins 10 --rows all --json" "$draw $work/bad.h5"; do
        timeout 60 "$marey" $answer >"$work/stdout" 2>"$work/err"
        code=$?
        checked=$((checked + 1))
        case $code in
        0) ;;
        1)
            [ -s "$work/err" ] || fail "$1: refused without a word"
            ! grep -qv '^marey: ' "$work/err" || fail "$1: a word that is not marey's own"
            ;;
        *) fail "$1: \`marey ${answer%% *}\` ends with $code" ;;
        esac
    done
}
for part in 0 1 7 100 2048 $((size / 4)) $((size / 2)) $((size * 9 / 10)) $((size - 1)); do
    head -c "$part" "$work/good.h5" >"$work/bad.h5"
    own "cut to $part of $size bytes"
done
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    $python - "$work/good.h5" "$work/bad.h5" "$seed" <<'EOF'
import random
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
chance = random.Random(int(sys.argv[3]))
# Half of the damage falls into the head, where the structure is.
for i in range(20):
    data[chance.randrange(4096 if i % 2 else len(data))] ^= 1 << chance.randrange(8)
open(sys.argv[2], 'wb').write(data)
EOF
    own "bits flipped, seed $seed"
    $python - "$work/good.h5" "$work/bad.h5" "$seed" <<'EOF'
import random
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
chance = random.Random(int(sys.argv[3]))
for i in range(30): # the structure of what marey writes lies at the end
    data[-1 - chance.randrange(60000)] = chance.randrange(256)
open(sys.argv[2], 'wb').write(data)
EOF
    own "the end overwritten, seed $seed"
done

# Times centuries apart are drawn like others.
cat >"$work/apart.json" <<'EOF'
[{"ph":"X","name":"a","cat":"kernel","pid":1,"tid":2,"ts":-4000000000000000.0,"dur":1},
 {"ph":"X","name":"b","cat":"kernel","pid":1,"tid":2,"ts":4000000000000000.0,"dur":1}]
EOF
convert "$work/apart.json"
converted apart.json far-time
( ulimit -v 8000000
  timeout 60 "$marey" $draw "$work/out/run.h5" >"$work/stdout" 2>"$work/err" ) || fail "times centuries apart: not drawn"

# One event a hundred days from all others: what is shown first are the others.
$python - >"$work/stray.json" <<'EOF'
import json
print(json.dumps([{'ph': 'X', 'name': 'a', 'cat': 'kernel', 'pid': 1, 'tid': 2, 'ts': t, 'dur': 5}
                  for t in list(range(0, 1000, 10)) + [8640000000000]]))
EOF
convert "$work/stray.json"
converted stray.json -
$python -c 'import json, sys; t = json.load(open(sys.argv[1]))["time"]; sys.exit(t["view_end_ns"] != 995000)' \
    "$work/info.json" || fail "stray.json: the stray event is shown first"

# Places that can't be written.
good=$work/inputs/chinese.json
checked=$((checked + 3))
timeout 60 "$marey" convert "$good" -o "$work/no/such/folder/run.h5" --quiet >"$work/stdout" 2>"$work/err"
[ $? = 1 ] || fail "an output folder that is not there"
[ ! -e "$work/no" ] || fail "an output folder appeared"
cp "$good" "$work/mine.json"
timeout 60 "$marey" convert "$good" -o "$work/mine.json" --quiet >"$work/stdout" 2>"$work/err"
[ $? = 1 ] || [ $? = 2 ] || fail "something else at the output's place is not refused"
cmp -s "$good" "$work/mine.json" || fail "something else at the output's place was replaced"
if [ "$(id -u)" != 0 ]; then
    mkdir "$work/locked"
    chmod 555 "$work/locked"
    timeout 60 "$marey" convert "$good" -o "$work/locked/run.h5" --quiet >"$work/stdout" 2>"$work/err"
    [ $? = 1 ] || fail "a folder without write permission"
fi

# A full disk: writes fail behind the first megabyte. (A limit of file size acts as one; its signal is ignored.)
rm -rf "$work/out"
mkdir "$work/out"
"$marey" synth "$work/big" --preset resnet50 --ranks 4 --steps 20 --quiet || fail "synth writes a folder"
( trap '' XFSZ
  ulimit -f 200
  timeout 60 "$marey" convert "$work/big" -o "$work/out/run.h5" --quiet >"$work/stdout" 2>"$work/err" )
code=$?
[ "$code" = 1 ] || fail "a full disk: exit $code"
[ -z "$(left)" ] || fail "a full disk: left behind: $(left)"
( trap '' XFSZ
  ulimit -f 200
  timeout 60 "$marey" synth "$work/full" --preset resnet50 --ranks 2 --steps 20 --quiet >"$work/stdout" 2>"$work/err" )
code=$?
[ "$code" = 1 ] || fail "a full disk for synth: exit $code"
[ ! -e "$work/full" ] || fail "a full disk for synth: something is left"
checked=$((checked + 2))

echo "$checked inputs, $failed failures"
[ "$failed" = 0 ]
