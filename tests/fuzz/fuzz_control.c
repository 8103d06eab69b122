// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the control socket: control_start() and everything it does for a client.  The first byte
 * of the input says in how many pieces the rest is sent.  If there is an answer, it must be one
 * line of JSON.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "control/control.h"
#include "fuzz.h"

static sd_event *event;
static struct control *control;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

/* Every other status is known at once. */
static uint64_t asked, known;

static uint64_t ask(void *ctx)
{
	(void)ctx;
	if (++asked % 2)
		known = asked;
	return asked;
}

static bool is_known(void *ctx, uint64_t question)
{
	(void)ctx;
	return question <= known;
}

static json_t *status(void *ctx, uint64_t question)
{
	(void)ctx;
	check(question && question <= asked);
	return json_pack("{s:s}", "version", "fuzz");
}

static int move(void *ctx, const char *storage, const char *host, char **ret_error)
{
	(void)ctx, (void)ret_error;
	check(storage != NULL);
	return host ? 0 : -1;
}

static json_t *reload(void *ctx)
{
	(void)ctx;
	return json_pack("{s:b}", "done", 1);
}

static const struct control_commands commands = {
	.ask = ask,
	.is_known = is_known,
	.status = status,
	.move = move,
	.reload = reload,
};

static void stop(void)
{
	control_stop(control);
	sd_event_unref(event);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *folder = getenv("TMPDIR");

	(void)argc, (void)argv;
	log_set_level(LOG_LEVEL_ERROR);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/vread-fuzz.%d",
		 folder ? folder : "/tmp", (int)getpid());
	check(sd_event_new(&event) >= 0);
	check(control_start(&control, event, address.sun_path, &commands, NULL) == 0);
	atexit(stop);
	return 0;
}

static void serve(void)
{
	while (sd_event_run(event, 0) > 0)
		;
}

static void read_answer(int fd)
{
	static char answer[2 * CONTROL_MAX_REQUEST];
	size_t length = 0;
	ssize_t n;
	json_error_t error;
	json_t *json;

	while ((n = recv(fd, answer + length, sizeof(answer) - length, MSG_DONTWAIT)) > 0)
		length += (size_t)n;
	if (length == 0)
		return;
	check(length < sizeof(answer) && answer[length - 1] == '\n');
	check(memchr(answer, '\n', length) == answer + length - 1);
	json = json_loadb(answer, length, 0, &error);
	check(json_is_object(json));
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	size_t pieces = take8(&in) % 4 + 1u, each = in.left / pieces + 1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	while (in.left) {
		size_t n = in.left < each ? in.left : each;

		if (send(fd, in.at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break; /* the connection was dropped */
		in.at += n;
		in.left -= n;
		serve();
	}
	known = asked;
	control_heard(control);
	serve();
	read_answer(fd);
	close(fd);
	serve();
	return 0;
}
