#!/bin/sh
# build.sh OUT: builds the page into one HTML file. When that cannot be done, says why, leaves OUT empty and fails.
# build.sh --check: types, lint and unit tests of the page.
# Both fetch the packages of package-lock.json when they are not there; the page itself needs no development packages.
set -u
out=$1
cd "$(dirname "$0")" || exit 1

give_up() {
	if [ "$out" = --check ]; then
		echo "page: $*" >&2
	else
		echo "page: $*; \`report --html\` will not work, everything else will" >&2
		: >"$out"
	fi
	exit 1
}

# Keeps a copy of the lock file that was installed; what checks need holds what the page needs.
packages() { # page|check [OPTION]
	cmp -s package-lock.json node_modules/.installed-check && return
	cmp -s package-lock.json "node_modules/.installed-$1" && return
	kind=$1
	shift
	npm ci "$@" --no-audit --no-fund --fetch-retries=1 --loglevel=error >&2 || give_up "npm ci failed"
	cp package-lock.json "node_modules/.installed-$kind"
}

command -v node >/dev/null && command -v npm >/dev/null || give_up "nodejs and npm (18 or later) are not installed"
[ "$(node -p 'process.versions.node.split(".")[0] >= 18')" = true ] || give_up "node $(node --version) is too old, 18 is needed"
if [ "$out" = --check ]; then
	packages check
	npm run --silent types && npm run --silent lint && npm run --silent unit
else
	packages page --omit=dev
	node build.mjs "$out" || give_up "the bundler failed"
fi
