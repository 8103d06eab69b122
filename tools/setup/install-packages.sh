#!/bin/sh
# Installs the packages of packages.txt that are missing. If none is missing, prints nothing and
# needs no network. `make setup` runs it. Usage: install-packages.sh packages.txt
#
# Tests start the daemons that they need, on loopback. So no daemon of a package that is installed
# here starts by itself, neither now nor at the next boot.
set -eu
daemons="openssh-server/ssh krb5-kdc/krb5-kdc krb5-admin-server/krb5-admin-server
postgresql/postgresql prometheus/prometheus
prometheus-node-exporter/prometheus-node-exporter"
policy=/usr/sbin/policy-rc.d # see invoke-rc.d(8)
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
if [ ! -e $policy ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086  # a list of names
apt-get install -y -q --no-install-recommends $missing
for d in $daemons; do
	case " $missing " in
	*" ${d%/*} "*) systemctl disable -q "${d#*/}" 2>/dev/null || : ;;
	esac
done
