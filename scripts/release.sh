#!/bin/sh
# Make a release of the checked-out commit: a wheel, a source distribution, a software bill of
# materials, provenance, and signed checksums of all of them.
#
#   scripts/release.sh --key KEY          write dist/; KEY: the SSH key to sign with
#   scripts/release.sh --dry-run          do everything with a temporary key, write nothing
#   scripts/release.sh --dry-run FOLDER   … and leave the files in a new folder for inspection
#
# docs/how-to/release.md explains the steps before and after. Nothing is uploaded.
set -eu
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"

usage() { die "usage: scripts/release.sh --key KEY | --dry-run [FOLDER]"; }

dry_run='' key='' target=dist
case ${1:-} in
    --dry-run) [ $# -le 2 ] || usage; dry_run=yes target=${2:-} ;;
    --key) [ $# = 2 ] || usage; key=$2; [ -f "$key" ] || die "no such key: $key" ;;
    *) usage ;;
esac

unset PYTHONPATH # modules found there would count as installed
cd "$ROOT"
[ -z "$target" ] || [ ! -e "$target" ] || die "$target exists: remove it first"
python=${VNICAUDIT_RELEASE_PYTHON:-$ROOT/.venv-release/bin/python}
if [ -z "${VNICAUDIT_RELEASE_PYTHON:-}" ]; then
    environment "$ROOT/.venv-release" build "cyclonedx-bom>=7" "setuptools>=78.1.1"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# check MESSAGE: fail in a release, only warn in a dry run
check() {
    if [ -n "$dry_run" ]; then say "a release would be refused: $1"; else die "$1"; fi
}

# checkout FOLDER: the files of the commit, without other files in this directory
checkout() { mkdir -p "$1" && git archive "$commit" | tar -x -C "$1"; }

# build SOURCE FOLDER: the source distribution, and the wheel built from it. setuptools packs the
# former with the current time, so it is repacked with the time of the commit
build() {
    "$python" -m build --no-isolation --outdir "$2" "$1" >"$work/build.log" 2>&1 || {
        cat "$work/build.log" >&2
        die "the build failed"
    }
    rm -rf "$work/unpacked"
    mkdir "$work/unpacked"
    for file in "$2"/*.tar.gz; do
        tar -x -f "$file" -C "$work/unpacked"
        (cd "$work/unpacked" && tar -c --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
            --owner=0 --group=0 --numeric-owner -- *) | gzip -9n > "$file"
    done
}

checkout "$work/source"
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$work/source/vnicaudit/__init__.py")
say "vnicaudit $version, commit $commit"
[ -z "$(git status --porcelain --untracked-files=no)" ] || check "there are uncommitted changes"
grep -q "^## \[$version\]" "$work/source/CHANGELOG.md" || check "CHANGELOG.md has no section [$version]"
[ "$(git rev-parse -q --verify "v$version^{commit}" 2>/dev/null)" = "$commit" ] ||
    check "the tag v$version is not on this commit"
grep -q "^Version: *$version$" "$work/source/scripts/packaging/vnicaudit.spec" ||
    die "scripts/packaging/vnicaudit.spec has another version"
grep -q "^vnicaudit ($version-" "$work/source/scripts/packaging/debian/changelog" ||
    die "scripts/packaging/debian/changelog has another version"

say "building, twice"
dist="$work/dist"
build "$work/source" "$dist"
checkout "$work/again"
build "$work/again" "$work/dist-again"
for file in "$dist"/*; do
    cmp -s "$file" "$work/dist-again/${file##*/}" || die "${file##*/} differs between two builds"
done

say "software bill of materials"
"$python" -m venv --without-pip "$work/installed"
"$python" -m pip --python "$work/installed/bin/python" install --quiet \
    --disable-pip-version-check "$dist"/*.whl
rm "$work"/installed/lib/python*/site-packages/vnicaudit-*.dist-info/direct_url.json # it contains $work
"$python" -m cyclonedx_py environment --output-reproducible --output-format JSON \
    --output-file "$dist/vnicaudit-$version.cdx.json" "$work/installed/bin/python"

say "provenance"
"$python" scripts/provenance.py "$commit" "$dist"/*.whl "$dist"/*.tar.gz \
    > "$dist/vnicaudit-$version.intoto.json"

say "signed checksums"
if [ -n "$dry_run" ]; then
    key="$work/key"
    ssh-keygen -q -t ed25519 -N '' -C 'thrown away' -f "$key"
fi
(cd "$dist" && sha256sum -- * > SHA256SUMS)
ssh-keygen -q -Y sign -f "$key" -n vnicaudit-release "$dist/SHA256SUMS"
ssh-keygen -y -f "$key" | sed 's/^/vnicaudit-release /' > "$work/allowed_signers"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS &&
    ssh-keygen -q -Y verify -f "$work/allowed_signers" -I vnicaudit-release -n vnicaudit-release \
        -s SHA256SUMS.sig < SHA256SUMS)

(cd "$dist" && wc -c -- *)
[ -n "$target" ] || { say "dry run: nothing was written"; exit 0; }
mv "$dist" "$target"
say "written: $target"
