// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Starts and ends a parser's process, and asks over its channels. client.c calls it; process.h
 * describes the functions.
 *
 * Each parser has a thread, its keeper. The keeper starts the process, waits for its end, and
 * starts it again. A thread that asks takes one of the channels and does everything else itself.
 * If the answer does not come or is nonsense, the asking thread kills the process, and the
 * keeper does the rest. The kernel also kills the process when the keeper's thread ends. The keeper
 * outlives parser_free() if the process cannot be killed at once.
 */
#include "datanode/process.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/background.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/program.h"
#include "base/shortage.h"
#include "base/version.h"
#include "base/waiting.h"

#define LONG_ANSWER_MS 120000U /* limit of an answer about all partitions and directories */
#define START_MS 60000U        /* limit of a start, on a very busy host */
#define PATIENCE_MS 10000U     /* how long a question about one block waits for a start */
#define STABLE_MS 10000U       /* a process that ran so long is restarted at once */
#define FIRST_REST_MS 100U
#define LONGEST_REST_MS 10000U

enum state { STATE_STARTING, STATE_RUNNING, STATE_WAITING };

struct parser {
	char *name;
	struct image *const *images;
	unsigned num_images;
	char *program;
	unsigned answer_ms;

	pthread_mutex_t lock; /* guards everything below */
	pthread_cond_t changed;
	enum state state;
	bool abandoned; /* nobody is to wait for an answer */
	bool lacking;   /* parser_lacks() */
	bool stop;
	void (*ended)(void *ctx); /* what the keeper calls as its last act, once it must stop */
	void *ended_ctx;
	uint64_t incarnation;
	pid_t pid; /* 0: no process; else valid until the keeper reaps it */
	struct channel channels[PARSER_CHANNELS];
	bool busy[PARSER_CHANNELS];
	char *layout_text; /* NULL: none yet */
	unsigned restarts;
	uint64_t questions;
	uint64_t cpu_ms;    /* CPU time of the processes that have ended */
	char verdict[256];  /* why it is being killed; "": it is not */
	char last_end[256]; /* why it ended last; "": it never did */
};

/* Call with the lock held. Returns false when the time has come. */
static bool wait_until(struct parser *p, uint64_t ms)
{
	return clock_wait(&p->changed, &p->lock, ms);
}

/* Call with the lock held. */
static void kill_process(struct parser *p)
{
	if (p->pid)
		kill(p->pid, SIGKILL);
}

/* ---- starting ---------------------------------------------------------------------- */

/* True if the process has ended. Then its exit status gives the reason, not the error. */
static bool is_gone(int error)
{
	return error == -EPIPE || error == -ECONNRESET;
}

/* blamed: the process is to blame unless the error is a shortage; else this host is. */
static int fail(struct parser *p, int error, const char *what, bool blamed)
{
	pthread_mutex_lock(&p->lock);
	p->lacking = !blamed || is_shortage(error);
	if (!is_gone(error) && !p->verdict[0])
		snprintf(p->verdict, sizeof(p->verdict), "%s: %s", what, strerror(-error));
	pthread_mutex_unlock(&p->lock);
	return error;
}

/* Starts the process. If this returns 0, there is a process with channels that nobody else uses
 * yet. It has no environment but a test's clock. */
static int start_process(struct parser *p)
{
	char *const argv[] = {p->program, NULL}, *const env[] = {(char *)clock_setting(), NULL};
	const struct program program = {.path = p->program,
					.arguments = argv,
					.environment = env,
					.socket_type = SOCK_STREAM,
					.num_channels = PARSER_CHANNELS,
					.first_fd = PARSER_FIRST_FD};
	int channels[PARSER_CHANNELS];
	pid_t pid;
	int r = program_start(&program, channels, &pid);

	if (r < 0)
		return fail(p, r, p->program, false);
	pthread_mutex_lock(&p->lock);
	for (unsigned i = 0; i < PARSER_CHANNELS; i++)
		p->channels[i].fd = channels[i];
	p->pid = pid;
	if (p->stop || p->abandoned)
		kill_process(p);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* ---- telling it what it has to know ---------------------------------------------------- */

static bool read_nothing(void *ctx, int result, struct wire_in *in)
{
	(void)ctx, (void)result, (void)in;
	return true;
}

static bool read_setup(void *ctx, int result, struct wire_in *in)
{
	struct parser *p = ctx;
	char *reason = result < 0 ? wire_get_plain_text(in, PARSER_MAX_TEXT) : NULL;

	pthread_mutex_lock(&p->lock);
	if (reason)
		snprintf(p->verdict, sizeof(p->verdict), "%s", reason);
	pthread_mutex_unlock(&p->lock);
	free(reason);
	return true;
}

static bool read_anything(void *ctx, int result, struct wire_in *in)
{
	(void)ctx, (void)result;
	return wire_get(in, in->left) != NULL || in->left == 0;
}

static void write_path(void *ctx, struct wire_out *out)
{
	wire_put_text(out, source_path(ctx));
}

static int give_file(void *ctx, struct source *file)
{
	struct parser *p = ctx;
	struct parser_question q = {PARSER_FILE, false, write_path, read_nothing, file};
	int result,
		r = parser_exchange(&p->channels[0], &q, p->answer_ms, source_fd(file), &result);

	return r < 0 ? r : result;
}

static void write_setup(void *ctx, struct wire_out *out)
{
	const struct parser *p = ctx;

	wire_put32(out, PARSER_PROTOCOL);
	wire_put_text(out, VREAD_VERSION);
	wire_put64(out, p->incarnation + 1);
	wire_put32(out, p->num_images);
	for (unsigned i = 0; i < p->num_images; i++) {
		const struct image *img = p->images[i];

		wire_put_text(out, img ? image_format(img) : "");
		wire_put_text(out, img ? image_path(img) : "");
		wire_put32(out, img && image_is_direct(img) ? SOURCE_DIRECT : SOURCE_BUFFERED);
	}
}

void parser_put_use(struct wire_out *out, bool check_fit, const char *layout_path,
		    const char *layout_text)
{
	wire_put32(out, check_fit);
	wire_put_text(out, layout_path);
	wire_put_text(out, layout_text);
}

/* Writes USE without the check of fit: the layout fitted before, and the readers check the UUIDs
 * of file systems whenever they read. */
static void write_use(void *ctx, struct wire_out *out)
{
	parser_put_use(out, false, "", ctx);
}

/* Waits for READY. A start takes as long as a busy host needs, so the limit of an answer does
 * not apply. */
static int await_ready(struct parser *p)
{
	struct channel *c = &p->channels[0];
	struct parser_header header;
	struct wire_in in;
	int r;

	channel_limit(c, START_MS);
	r = channel_receive(c, &header, &in, NULL);
	if (r == 0 && (header.kind != PARSER_READY || header.result != 0 || header.length != 0))
		r = -EBADMSG;
	/* A process that ends before it is ready may have lacked threads, or memory. */
	return r < 0 ? fail(p, r, "it did not report that it is ready", r == -EBADMSG) : 0;
}

static int tell(struct parser *p)
{
	struct parser_question setup = {PARSER_SETUP, false, write_setup, read_setup, p};
	struct parser_question use = {PARSER_USE, true, write_use, read_anything, NULL};
	int result = 0, r = 0;

	for (unsigned i = 0; i < p->num_images && r == 0; i++)
		if (p->images[i])
			r = image_for_each_file(p->images[i], give_file, p);
	if (r == 0)
		r = parser_exchange(&p->channels[0], &setup, p->answer_ms, -1, &result);
	if (r == 0)
		r = result;
	pthread_mutex_lock(&p->lock);
	use.ctx = p->layout_text;
	pthread_mutex_unlock(&p->lock);
	if (r == 0 && use.ctx)
		r = parser_exchange(&p->channels[0], &use, LONG_ANSWER_MS, -1, &result);
	if (r == 0)
		r = result;
	return r < 0 ? fail(p, r, "it could not be set up", true) : 0;
}

/* ---- the keeper --------------------------------------------------------------------- */

static void describe_end(struct parser *p, const siginfo_t *end)
{
	const char *abbreviation = sigabbrev_np(end->si_status);

	if (p->verdict[0])
		snprintf(p->last_end, sizeof(p->last_end), "%s", p->verdict);
	if (p->verdict[0] && (end->si_code != CLD_KILLED || end->si_status == SIGKILL))
		return;
	if (end->si_code == CLD_EXITED)
		snprintf(p->last_end, sizeof(p->last_end), "it ended with status %d",
			 end->si_status);
	else if (end->si_status == SIGSYS)
		snprintf(p->last_end, sizeof(p->last_end),
			 "killed by SIGSYS: a system call that a parser may not make");
	else
		snprintf(p->last_end, sizeof(p->last_end), "killed by SIG%s",
			 abbreviation ? abbreviation : "?");
}

/* In a build with a sanitizer, an error that the sanitizer finds in a parser aborts vreadd,
 * where tests look for it. */
static void heed_sanitizers(const siginfo_t *end)
{
#ifdef __SANITIZE_ADDRESS__
	if (end->si_code == CLD_EXITED && end->si_status != 0) {
		log_error("a sanitizer ended the parser");
		abort();
	}
#else
	(void)end;
#endif
}

static void await_end(struct parser *p)
{
	siginfo_t end = {0};
	int r;

	do
		r = waitid(P_PID, (id_t)p->pid, &end, WEXITED | WNOWAIT);
	while (r < 0 && errno == EINTR);
	pthread_mutex_lock(&p->lock);
	p->state = STATE_STARTING;
	describe_end(p, &end);
	if (!p->stop)
		heed_sanitizers(&end);
	pthread_cond_broadcast(&p->changed);
	/* The process's ends of the sockets may outlive it, in a message that nobody has
	 * received. So shut the sockets down. */
	for (unsigned i = 0; i < PARSER_CHANNELS; i++)
		shutdown(p->channels[i].fd, SHUT_RDWR);
	for (unsigned i = 0; i < PARSER_CHANNELS; i++) {
		while (p->busy[i])
			pthread_cond_wait(&p->changed, &p->lock);
		channel_clear(&p->channels[i]);
	}
	p->cpu_ms += clock_cpu_ms(p->pid);
	waitid(P_PID, (id_t)p->pid, &end, WEXITED);
	p->pid = 0;
	pthread_mutex_unlock(&p->lock);
}

/* Runs one process from its start to its end. */
static void run_once(struct parser *p)
{
	bool told;

	if (start_process(p) < 0) {
		pthread_mutex_lock(&p->lock);
		snprintf(p->last_end, sizeof(p->last_end), "%s", p->verdict);
		pthread_mutex_unlock(&p->lock);
		return;
	}
	told = await_ready(p) == 0 && tell(p) == 0;
	pthread_mutex_lock(&p->lock);
	if (told && !p->stop && !p->abandoned) {
		p->state = STATE_RUNNING;
		p->lacking = false;
		p->incarnation++;
	} else {
		kill_process(p);
	}
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	await_end(p);
}

static void release(struct parser *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->layout_text);
	free(p->program);
	free(p->name);
	free(p);
}

static void keep(void *arg)
{
	struct parser *p = arg;
	void (*ended)(void *ctx);
	void *ended_ctx;
	uint64_t rest = 0;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		uint64_t start = clock_ms(), end;

		p->state = STATE_STARTING;
		p->verdict[0] = '\0';
		pthread_mutex_unlock(&p->lock);
		run_once(p);
		pthread_mutex_lock(&p->lock);
		while (p->abandoned && !p->stop)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->stop)
			break;
		p->restarts++;
		end = clock_ms();
		if (end - start >= STABLE_MS)
			rest = 0;
		log_event(LOG_EVENT_PARSER_RESTARTED, LOG_LEVEL_WARN, p->name,
			  "the parser of its images is started again%s: %s",
			  rest ? " after a pause" : "", p->last_end);
		p->state = rest ? STATE_WAITING : STATE_STARTING;
		pthread_cond_broadcast(&p->changed);
		while (!p->stop && rest && wait_until(p, end + rest))
			;
		rest = rest ? 2 * rest : FIRST_REST_MS;
		if (rest > LONGEST_REST_MS)
			rest = LONGEST_REST_MS;
	}
	ended = p->ended;
	ended_ctx = p->ended_ctx;
	pthread_mutex_unlock(&p->lock);
	release(p);
	ended(ended_ctx);
}

/* ---- asking ---------------------------------------------------------------------------- */

/* Call with the lock held. Returns an idle channel and marks it busy, or NULL. */
static struct channel *idle_channel(struct parser *p)
{
	for (unsigned i = 0; i < PARSER_CHANNELS; i++)
		if (!p->busy[i]) {
			p->busy[i] = true;
			return &p->channels[i];
		}
	return NULL;
}

static struct channel *take_channel(struct parser *p, bool patient, uint64_t *ret_incarnation)
{
	uint64_t end = clock_ms() + (patient ? START_MS : PATIENCE_MS);
	struct channel *c = NULL;

	pthread_mutex_lock(&p->lock);
	for (bool in_time = true; !c && in_time && !p->abandoned && p->state != STATE_WAITING;) {
		if (p->state == STATE_RUNNING)
			c = idle_channel(p);
		if (!c) {
			waiting_announce();
			in_time = wait_until(p, end);
		}
	}
	p->questions += c != NULL;
	*ret_incarnation = p->incarnation;
	pthread_mutex_unlock(&p->lock);
	return c;
}

/* Call with the lock held. Kills the process and records why. */
static void condemn(struct parser *p, int error)
{
	if (!is_gone(error) && !p->verdict[0])
		snprintf(p->verdict, sizeof(p->verdict), "%s",
			 error == -ETIMEDOUT ? "it did not answer in time"
			 : error == -EBADMSG ? "its answer was malformed"
					     : strerror(-error));
	kill_process(p);
}

static void give_back(struct parser *p, struct channel *c, uint64_t incarnation, int error)
{
	pthread_mutex_lock(&p->lock);
	if (error < 0 && p->incarnation == incarnation) {
		condemn(p, error);
		if (p->state == STATE_RUNNING)
			p->state = STATE_STARTING;
	}
	p->busy[c - p->channels] = false;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void parser_abandon(struct parser *p)
{
	pthread_mutex_lock(&p->lock);
	p->abandoned = true;
	kill_process(p);
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

uint64_t parser_cpu_ms(struct parser *p)
{
	uint64_t ms;

	pthread_mutex_lock(&p->lock);
	ms = p->cpu_ms + (p->pid ? clock_cpu_ms(p->pid) : 0);
	pthread_mutex_unlock(&p->lock);
	return ms;
}

/* A question is asked again if the process ended before its answer was due: another question may be
 * to blame. */
int parser_ask(struct parser *p, const struct parser_question *q)
{
	unsigned limit = q->long_answer ? LONG_ANSWER_MS : p->answer_ms;

	for (unsigned attempt = 0; attempt < 2; attempt++) {
		uint64_t incarnation, due;
		struct channel *c = take_channel(p, q->long_answer, &incarnation);
		int r, result;

		if (!c)
			break;
		due = clock_ms() + limit;
		r = parser_exchange(c, q, limit, -1, &result);
		give_back(p, c, incarnation, r);
		if (r == 0)
			return is_shortage(result) ? -ENOMEM : result;
		if (r == -ETIMEDOUT || clock_ms() >= due)
			break;
	}
	return -EBUSY;
}

/* ---- the rest ---------------------------------------------------------------------------- */

void parser_remember_layout(struct parser *p, char *layout_text)
{
	pthread_mutex_lock(&p->lock);
	free(p->layout_text);
	p->layout_text = layout_text;
	pthread_mutex_unlock(&p->lock);
}

char *parser_why_away(struct parser *p)
{
	char *text = NULL;

	pthread_mutex_lock(&p->lock);
	error_text(&text, 0, "the parser of its images is not running: %s",
		   p->last_end[0] ? p->last_end : "it was not started in time");
	pthread_mutex_unlock(&p->lock);
	return text;
}

bool parser_lacks(struct parser *p)
{
	bool lacking;

	pthread_mutex_lock(&p->lock);
	lacking = p->lacking;
	pthread_mutex_unlock(&p->lock);
	return lacking;
}

const char *parser_name(const struct parser *p)
{
	return p->name;
}

struct image *const *parser_images(const struct parser *p, unsigned *ret_count)
{
	*ret_count = p->num_images;
	return p->images;
}

json_t *parser_status(struct parser *p)
{
	static const char *const names[] = {"starting", "running", "waiting"};
	json_t *status;

	pthread_mutex_lock(&p->lock);
	status = json_pack("{s:s, s:I, s:I}", "state", names[p->state], "questions",
			   (json_int_t)p->questions, "restarts", (json_int_t)p->restarts);
	if (p->pid)
		json_object_set_new(status, "pid", json_integer(p->pid));
	if (p->last_end[0])
		json_object_set_new(status, "last-end", json_string(p->last_end));
	pthread_mutex_unlock(&p->lock);
	return status;
}

static void init_lock(struct parser *p)
{
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
}

int parser_new(const char *name, struct image *const *images, unsigned num_images,
	       const struct parser_settings *settings, struct parser **ret)
{
	struct parser *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	init_lock(p);
	p->lacking = true; /* until a process was started */
	p->images = images;
	p->num_images = num_images;
	p->answer_ms = settings && settings->answer_ms ? settings->answer_ms : PARSER_ANSWER_MS;
	p->name = strdup(name);
	p->program = settings && settings->program ? strdup(settings->program)
						   : program_find("vread-parser");
	for (unsigned i = 0; i < PARSER_CHANNELS; i++)
		p->channels[i].fd = -1;
	r = p->name && p->program ? background_start(keep, p) : -ENOMEM;
	if (r < 0) {
		release(p);
		return r;
	}
	*ret = p;
	return 0;
}

void parser_free(struct parser *p, void (*ended)(void *ctx), void *ctx)
{
	if (!p) {
		ended(ctx);
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	p->ended = ended;
	p->ended_ctx = ctx;
	kill_process(p);
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}
