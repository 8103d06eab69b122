// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peers.c - checks of `xl-vread doctor`: the certificates and the private key of this host, and
 * whether other hosts answer.  Called by doctor.c.
 *
 * A peer that was not asked yet is idle, which does not say whether it can be reached.  So the
 * check connects to the port of each peer that is not up.  Nothing is sent.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text.h"
#include "checks.h"
#include "peer/wire/address.h"
#include "peer/wire/key_file.h"

#define CONNECT_MS 3000
#define SOON_DAYS 30

/* ---- certificates -------------------------------------------------------------------------- */

static void check_certificate(struct doctor *d, const char *configured, const char *what)
{
	char path[PATH_MAX];
	FILE *f = fopen(doctor_path(d, configured, path), "re");
	X509 *x = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;
	int days, seconds;

	if (!f)
		doctor_fail(d, path, "put it there, or correct [peers] of vread.conf", "%s: %s",
			    what, strerror(errno));
	else if (!x)
		doctor_fail(d, path, "a certificate begins with -----BEGIN CERTIFICATE-----",
			    "%s: is no certificate in PEM", what);
	else if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)))
		doctor_fail(d, path, "issue a new one", "%s: has no readable date", what);
	else if (days < 0 || seconds < 0)
		doctor_fail(d, path, "issue a new one, and restart vreadd",
			    "%s: expired %d days ago; no peer trusts it", what, -days);
	else if (days < SOON_DAYS)
		doctor_warn(d, path, "issue a new one, and restart vreadd",
			    "%s: expires in %d days", what, days);
	else
		doctor_ok(d, path, "%s: valid for %d days", what, days);
	X509_free(x);
	if (f)
		fclose(f);
}

/* With a list that is too old vreadd accepts nobody. */
static void check_crl(struct doctor *d, const char *configured)
{
	static const char remedy[] = "have the authority issue a new one: vreadd reads it at once";
	char path[PATH_MAX];
	FILE *f = fopen(doctor_path(d, configured, path), "re");
	X509_CRL *x = f ? PEM_read_X509_CRL(f, NULL, NULL, NULL) : NULL;
	const ASN1_TIME *next = x ? X509_CRL_get0_nextUpdate(x) : NULL;
	int days, seconds;

	if (!f)
		doctor_fail(d, path, "put it there, or correct [peers] of vread.conf",
			    "list of the revoked: %s", strerror(errno));
	else if (!x)
		doctor_fail(d, path, "a list begins with -----BEGIN X509 CRL-----",
			    "list of the revoked: is none in PEM");
	else if (!next || !ASN1_TIME_diff(&days, &seconds, NULL, next))
		doctor_ok(d, path, "list of the revoked: it does not expire");
	else if (days < 0 || seconds < 0)
		doctor_fail(d, path, remedy,
			    "list of the revoked: expired %d days ago; every peer is refused",
			    -days);
	else if (days < SOON_DAYS / 10)
		doctor_warn(d, path, remedy,
			    "list of the revoked: expires in %d days; then every peer is refused",
			    days);
	else
		doctor_ok(d, path, "list of the revoked: valid for %d days", days);
	X509_CRL_free(x);
	if (f)
		fclose(f);
}

/* vreadd refuses a key that others can use: it does not start, or keeps the key it has. */
static void check_key(struct doctor *d, const char *configured)
{
	gid_t group = (gid_t)json_integer_value(json_object_get(d->facts->status, "group"));
	char path[PATH_MAX];
	struct stat file;

	if (stat(doctor_path(d, configured, path), &file) < 0)
		doctor_fail(d, path, "put it there, or correct [peers] of vread.conf",
			    "private key of this host: %s", strerror(errno));
	else if (key_file_open_bits(&file, group))
		doctor_fail(d, path, "chmod 0600 it; make a new key if others may have read it",
			    "private key of this host: mode %04o, group %u: others than root can "
			    "use it",
			    file.st_mode & 07777U, (unsigned)file.st_gid);
	else
		doctor_ok(d, path, "private key of this host: only root can use it");
}

void check_certificates(struct doctor *d)
{
	if (!d->facts->config || !d->facts->config->peers.line) {
		doctor_skip(d, "certificates", "no other hosts are configured");
		return;
	}
	check_certificate(d, d->facts->config->peers.certificate, "of this host");
	check_certificate(d, d->facts->config->peers.ca, "of the authority");
	if (d->facts->config->peers.crl[0])
		check_crl(d, d->facts->config->peers.crl);
	check_key(d, d->facts->config->peers.key);
}

/* ---- peers ---------------------------------------------------------------------------------- */

/* Connects to the port and closes the connection.  0 or negative errno. */
static int try_port(const char *text)
{
	struct address address;
	socklen_t length = sizeof(int);
	struct pollfd p;
	int r = 0;

	if (!address_parse(text, &address))
		return -EINVAL;
	p.fd = socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	p.events = POLLOUT;
	if (p.fd < 0)
		return -errno;
	if (connect(p.fd, (struct sockaddr *)&address.socket, address.length) < 0)
		r = errno;
	if (r == EINPROGRESS) {
		if (poll(&p, 1, CONNECT_MS) != 1)
			r = ETIMEDOUT;
		else if (getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &r, &length) < 0)
			r = errno;
	}
	close(p.fd);
	return -r;
}

static void check_peer(struct doctor *d, const json_t *peer)
{
	const char *address = json_string_value(json_object_get(peer, "address"));
	const char *error = json_string_value(json_object_get(peer, "last_error"));
	const char *state = text_member(peer, "state"), *name = text_member(peer, "name");
	int r;

	if (!strcmp(state, "up")) {
		doctor_ok(d, name, "up, by %.16s", text_member(peer, "transport"));
		return;
	}
	if (!address || !*address) {
		doctor_skip(d, name, "has no address: it only asks");
		return;
	}
	r = try_port(address);
	if (r)
		doctor_fail(
			d, name,
			"does vreadd run there, with listen in [peers]? is the port open between "
			"the hosts?",
			"peer down: %.64s: %s", address, strerror(-r));
	else if (!strcmp(state, "backing off"))
		doctor_fail(
			d, name,
			"`xl-vread doctor` there; names in certificates are those of [peer NAME], "
			"of one authority",
			"its port answers, but the last connection failed: %.400s",
			error ?: "no reason was given");
	else
		doctor_ok(d, name, "%.32s, its port answers", state);
}

/* vreadd listens at an address that this host does not have (yet), too. */
static void check_listen(struct doctor *d, const json_t *server)
{
	const char *text = json_string_value(json_object_get(server, "listen"));
	struct address address;
	int fd;

	if (!text || !address_parse(text, &address))
		return;
	((struct sockaddr_in *)&address.socket)->sin_port = 0; /* the same place for IPv6 */
	fd = socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address.socket, address.length) < 0 &&
	    errno == EADDRNOTAVAIL)
		doctor_fail(d, "listen", "give an interface the address, or correct [peers] listen",
			    "no host can connect: this host has no address %.64s", text);
	if (fd >= 0)
		close(fd);
}

void check_peers(struct doctor *d)
{
	const json_t *peers = json_object_get(d->facts->status, "peers");
	const char *refused = json_string_value(
		json_object_get(json_object_get(peers, "server"), "last_refused"));
	json_t *peer;
	size_t i;

	if (!json_is_object(peers)) {
		doctor_skip(d, "peers",
			    d->facts->status ? "no other hosts are configured"
					     : "vreadd does not answer");
		return;
	}
	json_array_foreach(json_object_get(peers, "peers"), i, peer)
	{
		check_peer(d, peer);
	}
	check_listen(d, json_object_get(peers, "server"));
	if (refused)
		doctor_warn(d, "listen",
			    "a host that asks this host needs a section [peer NAME] here, and a "
			    "certificate of that name",
			    "refused last: %.400s", refused);
}
