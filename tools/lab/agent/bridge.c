/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bridge.c - dom0's end of a guest's control channel.
 *
 *   lab-bridge DOMID PATH
 *
 * Joins stdin and stdout to the vchan that lab-agent serves in the guest.
 * The controller runs it through dom0's agent and speaks the same protocol
 * through it.  Exits 0 at end of input, 3 when the guest or its agent is gone.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libxenvchan.h>
#include <xenstore.h>

#define BUFFER_BYTES (64U << 10)
#define EXIT_GONE 3

static unsigned int domid;

static bool guest_alive(struct xs_handle *xs)
{
	return xs_is_domain_introduced(xs, domid);
}

/* Waits for an event of a watch.  The watch on @releaseDomain has one for every domain that goes.
 * True if ours is still there. */
static bool read_watch(struct xs_handle *xs)
{
	unsigned int count;
	char **event = xs_read_watch(xs, &count);

	free(event);
	return guest_alive(xs);
}

/* Tries whenever the guest changes the channel's nodes: before it has booted it has none.  It does
 * not try again by time: that took a third of the processor while the guest booted. */
static struct libxenvchan *connect_guest(struct xs_handle *xs, const char *path)
{
	struct libxenvchan *vchan = NULL;
	char full[128];

	snprintf(full, sizeof(full), "/local/domain/%u/%s", domid, path);
	if (!xs_watch(xs, full, "channel"))
		return NULL;
	while (!vchan && read_watch(xs))
		vchan = libxenvchan_client_init(NULL, domid, full);
	xs_unwatch(xs, full, "channel");
	if (vchan)
		vchan->blocking = 0;
	return vchan;
}

static bool write_out(const char *data, size_t size)
{
	ssize_t n;

	for (size_t done = 0; done < size; done += n) {
		n = write(STDOUT_FILENO, data + done, size - done);
		if (n < 0)
			return false;
	}
	return true;
}

/* Copies from the guest to stdout until there is nothing more for now. */
static bool drain(struct libxenvchan *vchan)
{
	char buffer[BUFFER_BYTES];
	int n;

	while ((n = libxenvchan_read(vchan, buffer, sizeof(buffer))) > 0)
		if (!write_out(buffer, n))
			return false;
	return n == 0;
}

struct input {
	char data[BUFFER_BYTES];
	size_t start, end;
};

/* Copies bytes read from stdin to the guest, as far as there is room. */
static bool push(struct libxenvchan *vchan, struct input *in)
{
	int n;

	while (in->start < in->end) {
		n = libxenvchan_write(vchan, in->data + in->start, in->end - in->start);
		if (n <= 0)
			return n == 0;
		in->start += n;
	}
	in->start = in->end = 0;
	return true;
}

static int join(struct libxenvchan *vchan, struct xs_handle *xs)
{
	static struct input in;
	struct pollfd fds[3];
	ssize_t n;

	while (drain(vchan) && push(vchan, &in)) {
		fds[0] = (struct pollfd){.fd = libxenvchan_fd_for_select(vchan), .events = POLLIN};
		fds[1] = (struct pollfd){.fd = in.end ? -1 : STDIN_FILENO, .events = POLLIN};
		fds[2] = (struct pollfd){.fd = xs_fileno(xs), .events = POLLIN};
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			libxenvchan_wait(vchan);
		if (fds[2].revents && !read_watch(xs))
			break;
		if (fds[1].revents) {
			n = read(STDIN_FILENO, in.data, sizeof(in.data));
			if (n <= 0)
				return 0;
			in.end = n;
		}
	}
	return EXIT_GONE;
}

int main(int argc, char **argv)
{
	struct libxenvchan *vchan;
	struct xs_handle *xs;
	int status;

	if (argc != 3) {
		fprintf(stderr, "usage: lab-bridge DOMID PATH\n");
		return 2;
	}
	domid = strtoul(argv[1], NULL, 10);
	xs = xs_open(0);
	if (!xs || !xs_watch(xs, "@releaseDomain", "gone")) {
		fprintf(stderr, "lab-bridge: xenstore: %s\n", strerror(errno));
		return 1;
	}
	vchan = connect_guest(xs, argv[2]);
	if (!vchan) {
		fprintf(stderr, "lab-bridge: domain %u is gone\n", domid);
		return EXIT_GONE;
	}
	status = join(vchan, xs);
	libxenvchan_close(vchan);
	return status;
}
