#!/bin/sh
# Installs the packages of packages.txt that are missing. If none is missing, prints nothing and
# needs no network. `make setup` runs it. Usage: install-packages.sh packages.txt
set -eu
wanted=$(sed 's/#.*//' "$1" | tr -s ' \t\n' ' ')
missing=
for p in $wanted; do
	case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
	installed) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0
echo "setup: installing$missing"
if [ "$(id -u)" != 0 ]; then
	echo "setup: not root. Run: apt-get install --no-install-recommends$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086  # a list of names
apt-get install -y -q --no-install-recommends $missing
