#!/bin/bash
# fetch-sysroot.sh: headers and static libraries of arm64 that frameperf links, from Debian's packages into
# $VM_KERNELS/sysroot-arm64 (extracted, not installed), whose path is printed. The host's packages stay as they are.
set -eu
: "${VM_KERNELS:=${XDG_CACHE_HOME:-$HOME/.cache}/frameperf-kernels}"
out=$VM_KERNELS/sysroot-arm64 d=$VM_KERNELS/.apt-arm64
packages="libbpf-dev libelf-dev libdw-dev zlib1g-dev libzstd-dev liblzma-dev libbz2-dev libjansson-dev libinih-dev libiberty-dev"
stamp=$out/.packages
if [ "$(cat "$stamp" 2>/dev/null)" = "$packages" ]; then
  echo "$out"
  exit 0
fi
mkdir -p "$d"/{lists/partial,cache/archives/partial,empty}
mirror=$(grep -rhoE 'https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -1 | tr -d ' ')
mirror=${mirror%/}
[ -n "$mirror" ] || { echo "fetch-sysroot: no Debian source found" >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $(. /etc/os-release; echo "$VERSION_CODENAME") main" >"$d/sources.list"
cat >"$d/apt.conf" <<EOC
Dir::State::lists "$d/lists"; Dir::Cache "$d/cache"; Dir::Etc::sourcelist "$d/sources.list"; Dir::Etc::sourceparts "$d/empty";
APT::Architectures { "amd64"; "arm64"; }; APT::Sandbox::User "root"; Acquire::Retries "3"; Acquire::Languages "none";
EOC
export APT_CONFIG=$d/apt.conf
apt-get -qq update
t=$(mktemp -d "$d/t.XXXX")
trap 'rm -rf "$t"' EXIT
cd "$t"
# shellcheck disable=SC2046,SC2086
apt-get -qq download $(printf '%s:arm64 ' $packages)
rm -rf "$out"
for package in ./*.deb; do dpkg -x "$package" "$out"; done
echo "$packages" >"$stamp"
echo "$out"
