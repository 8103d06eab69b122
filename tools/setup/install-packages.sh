#!/bin/sh
# Installs the packages of packages.txt that are missing. If none is missing, prints nothing and
# needs no network. `make setup` runs it.
# Usage: install-packages.sh packages.txt [OS-RELEASE]    OS-RELEASE: /etc/os-release by default
#
# Tests start the daemons that they need, on loopback. So no daemon of a package that is installed
# here starts by itself, neither now nor at the next boot.
set -eu
daemons="openssh-server/ssh krb5-kdc/krb5-kdc krb5-admin-server/krb5-admin-server
postgresql/postgresql prometheus/prometheus
prometheus-node-exporter/prometheus-node-exporter
libvirt-daemon/libvirtd libvirt-daemon/virtlogd libvirt-daemon/libvirt-guests"
policy=/usr/sbin/policy-rc.d # see invoke-rc.d(8)
release=${2:-/etc/os-release}
# shellcheck disable=SC1090  # the caller names it
case $(. "$release" && echo "${ID-} ${VERSION_ID-}") in
'debian 12') column=1 ;;
'debian 13') column=2 ;;
*)
	name=$(. "$release" && echo "${PRETTY_NAME-}")
	echo "setup: $1 names packages of Debian 12 and 13, but $release is of ${name:-no system}." \
		"Install packages with the same contents, then run make with NO_SETUP=1" >&2
	exit 1
	;;
esac
wanted=$(awk -v column=$column '{ sub("#.*", "") } NF { print NF < column ? $1 : $column }' "$1")
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
