/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests what another host may write to by RDMA (peer/rdma/windows.c and host.c).  This program
 * fakes the adapter, with and without memory windows: it records what is registered, bound and
 * invalidated, and completes the work in the send queue when a test says so.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_clock.h"
#include "peer/rdma/end_private.h"

#define MESSAGES 4U
#define PLACE 1000U
#define SLOT 2U
#define FIRST_KEY 0x100U
#define SOFT_ROCE 0xffffffU

static struct ibv_context context;
static unsigned capabilities, vendor;
static bool is_silent; /* the adapter does not tell what it can do */
static uint8_t pool[4 * PLACE], buffers[4 * PLACE];
static unsigned num_domains, num_windows;

/* the last memory that was registered, and how many there are */
static struct {
	struct ibv_pd *domain;
	void *base;
	int access;
	unsigned count, tries;
	int error; /* not 0: registering fails with this errno */
} registered;

static struct ibv_send_wr posted; /* the last */
static unsigned num_posted;
static struct ibv_wc completion; /* the next, if its qp_num is not 0 */
static unsigned withdrawn_slot, num_withdrawn;
static bool is_told; /* by the completion channel */

/* ---- the adapter ---- */

int access(const char *path, int mode) /* is asked whether this host has RDMA */
{
	(void)path, (void)mode;
	return 0;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	return calloc(1, sizeof(struct rdma_event_channel));
}

void rdma_destroy_event_channel(struct rdma_event_channel *c)
{
	free(c);
}

const char *ibv_get_device_name(struct ibv_device *d)
{
	(void)d;
	return "fake0";
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *ret)
{
	assert_ptr_equal(c, &context);
	*ret = (struct ibv_device_attr){.device_cap_flags = capabilities, .vendor_id = vendor};
	return is_silent ? ENOMEM : 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	struct ibv_pd *domain = calloc(1, sizeof(*domain));

	domain->context = c;
	num_domains++;
	return domain;
}

int ibv_dealloc_pd(struct ibv_pd *domain)
{
	num_domains--;
	free(domain);
	return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *domain, void *base, size_t length,
				      unsigned flags)
{
	struct ibv_mr *region;

	registered.tries++;
	errno = registered.error;
	if (registered.error)
		return NULL;
	region = calloc(1, sizeof(*region));
	registered.domain = domain;
	registered.base = base;
	registered.access = (int)flags;
	registered.count++;
	*region = (struct ibv_mr){.context = domain->context,
				  .pd = domain,
				  .addr = base,
				  .length = length,
				  .lkey = 7,
				  .rkey = 8};
	return region;
}

struct ibv_mr *(ibv_reg_mr)(struct ibv_pd *domain, void *base, size_t length, int flags)
{
	return register_memory(domain, base, length, (unsigned)flags);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *domain, void *base, size_t length, uint64_t iova,
				unsigned flags)
{
	assert_int_equal(iova, (uintptr_t)base);
	return register_memory(domain, base, length, flags);
}

int ibv_dereg_mr(struct ibv_mr *region)
{
	registered.count--;
	free(region);
	return 0;
}

static struct ibv_mw *alloc_window(struct ibv_pd *domain, enum ibv_mw_type type)
{
	struct ibv_mw *window = calloc(1, sizeof(*window));

	assert_int_equal(type, IBV_MW_TYPE_2);
	*window = (struct ibv_mw){.context = domain->context,
				  .pd = domain,
				  .type = type,
				  .rkey = FIRST_KEY};
	num_windows++;
	return window;
}

static int free_window(struct ibv_mw *window)
{
	num_windows--;
	free(window);
	return 0;
}

static int post(struct ibv_qp *pair, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	(void)pair, (void)bad;
	posted = *request;
	num_posted++;
	return 0;
}

static int complete(struct ibv_cq *queue, int room, struct ibv_wc *ret)
{
	bool any = completion.qp_num != 0;

	(void)queue, (void)room;
	*ret = completion;
	completion.qp_num = 0;
	return any;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **queue, void **unused)
{
	bool told = is_told;

	(void)channel, (void)queue, (void)unused;
	is_told = false;
	errno = EAGAIN;
	return told ? 0 : -1;
}

/* verbs.h: the answer is the number of the error, and errno may be of another call. */
static int tell_nothing_more(struct ibv_cq *queue, int solicited_only)
{
	(void)queue, (void)solicited_only;
	return ENOMEM;
}

/* ---- an end of a queue pair ---- */

static struct rdma *rdma;
static struct rdma_end end;
static struct rdma_device *device;

static int on_withdrawn(void *ctx, unsigned slot)
{
	(void)ctx;
	withdrawn_slot = slot;
	num_withdrawn++;
	return 0;
}

static void make(enum rdma_side side, unsigned device_cap_flags)
{
	static const struct rdma_end_user user = {.withdrawn = on_withdrawn};
	static struct rdma_cm_id id;
	static struct ibv_qp pair;
	static struct ibv_cq queue;
	static uint8_t messages[2 * MESSAGES * RDMA_BUFFER_BYTES];

	capabilities = device_cap_flags;
	assert_int_equal(rdma_new(&rdma), 0);
	assert_int_equal(rdma_device_of(rdma, &context, &device), 0);
	pair.context = queue.context = id.verbs = &context;
	id.qp = &pair;
	end = (struct rdma_end){.side = side,
				.state = END_UP,
				.device = device,
				.user = &user,
				.id = &id,
				.queue = &queue,
				.buffers = messages,
				.messages = MESSAGES};
	assert_int_equal(rdma_end_take_domain(&end), 0);
}

static int set_up(void **state)
{
	(void)state;
	context.ops = (struct ibv_context_ops){.alloc_mw = alloc_window,
					       .dealloc_mw = free_window,
					       .post_send = post,
					       .poll_cq = complete,
					       .req_notify_cq = tell_nothing_more};
	num_posted = num_withdrawn = 0;
	registered.tries = 0;
	completion = (struct ibv_wc){0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rdma_end_free_windows(&end);
	rdma_end_free_domain(&end);
	rdma_free(rdma);
	assert_int_equal(num_windows, 0);
	assert_int_equal(num_domains, 0);
	assert_int_equal(registered.count, 0);
	return 0;
}

static uint32_t expose(struct ibv_mr *region, const uint8_t *at)
{
	uint32_t key;

	assert_int_equal(rdma_end_expose(&end, SLOT, region, at, PLACE, &key), 0);
	return key;
}

static void complete_with(enum ibv_wc_opcode opcode, unsigned flags)
{
	completion = (struct ibv_wc){.wr_id = SLOT,
				     .status = IBV_WC_SUCCESS,
				     .opcode = opcode,
				     .wc_flags = flags,
				     .qp_num = 1};
}

/* ---- tests ---- */

static void no_key_of_a_guests_memory_lets_others_write(void **state)
{
	struct rdma_memory *memory;
	struct ibv_mr *region;

	(void)state;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_int_equal(rdma_memory_new(rdma, RDMA_ASKS, pool, sizeof(pool), &memory), 0);
	assert_int_equal(rdma_region_of(device, RDMA_ASKS, pool + 5, 10, &region), 0);
	assert_ptr_equal(region->addr, pool);
	assert_int_equal(registered.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_int_equal(rdma_region_of(device, RDMA_ASKS, pool + sizeof(pool), 1, &region),
			 -ENOENT);
	rdma_memory_free(memory);
}

static void a_window_is_one_place_with_another_key_each_time(void **state)
{
	struct ibv_mr region = {.rkey = 8};
	uint32_t first, second;

	(void)state;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	assert_ptr_equal(end.domain, device->domains[RDMA_ASKS]);
	first = expose(&region, pool + PLACE);
	assert_int_equal(posted.opcode, IBV_WR_BIND_MW);
	assert_ptr_equal(posted.bind_mw.bind_info.mr, &region);
	assert_int_equal(posted.bind_mw.bind_info.addr, (uintptr_t)pool + PLACE);
	assert_int_equal(posted.bind_mw.bind_info.length, PLACE);
	assert_int_equal(posted.bind_mw.bind_info.mw_access_flags, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(posted.bind_mw.rkey, first);
	assert_int_not_equal(first, FIRST_KEY);
	assert_int_equal(rdma_end_withdraw(&end, SLOT), 0);
	second = expose(&region, pool);
	assert_int_not_equal(first, second);
	assert_int_equal(num_windows, 1);
}

static void a_place_is_withdrawn_when_the_adapter_says_so(void **state)
{
	struct ibv_mr region = {.rkey = 8};
	uint32_t key;

	(void)state;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	key = expose(&region, pool);
	assert_int_equal(rdma_end_withdraw(&end, SLOT), 0);
	assert_int_equal(posted.opcode, IBV_WR_LOCAL_INV);
	assert_int_equal(posted.invalidate_rkey, key);
	assert_int_equal(posted.send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(rdma_end_take_completions(&end), 0);
	assert_int_equal(num_withdrawn, 0);
	complete_with(IBV_WC_LOCAL_INV, 0);
	assert_int_equal(rdma_end_take_completions(&end), 0);
	assert_int_equal(num_withdrawn, 1);
	assert_int_equal(withdrawn_slot, SLOT);
}

/* A host that invalidates a window itself ends its connection: the adapter would refuse to
 * invalidate the window a second time. */
static void the_other_host_may_not_invalidate(void **state)
{
	(void)state;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	complete_with(IBV_WC_RECV, IBV_WC_WITH_INV);
	assert_int_equal(rdma_end_take_completions(&end), -EPROTO);
	assert_string_equal(end.error, "the other host ends a key itself");
}

static void an_adapter_that_would_tell_of_nothing_more_ends_the_queue_pair(void **state)
{
	(void)state;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	is_told = true;
	assert_int_equal(rdma_end_take_completions(&end), -ENOMEM);
	assert_string_equal(end.error, "ibv_req_notify_cq: Cannot allocate memory");
}

/* Registering memory pins it, and the host may lack room for that for a moment. */
static void memory_that_could_not_be_registered_is_tried_again(void **state)
{
	static const enum rdma_side sides[] = {RDMA_ASKS, RDMA_ANSWERS};
	struct rdma_memory *memory;
	struct ibv_mr *region;

	(void)state;
	own_clock_start();
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	for (unsigned i = 0; i < RDMA_SIDES; i++) {
		assert_int_equal(rdma_memory_new(rdma, sides[i], pool, sizeof(pool), &memory), 0);
		registered.tries = 0;
		registered.error = ENOMEM;
		assert_int_equal(rdma_region_of(device, sides[i], pool, 1, &region), -ENOMEM);
		assert_int_equal(rdma_region_of(device, sides[i], pool, 1, &region), -ENOMEM);
		assert_int_equal(registered.tries, 1); /* not with each READ */
		registered.error = 0;
		own_clock_advance(1000);
		assert_int_equal(rdma_region_of(device, sides[i], pool, 1, &region), 0);
		assert_ptr_equal(region->addr, pool);
		rdma_memory_free(memory);
	}
	own_clock_end();
}

/* It is not taken for an adapter without windows. */
static void an_adapter_that_tells_nothing_is_asked_again(void **state)
{
	(void)state;
	end = (struct rdma_end){0};
	capabilities = IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	is_silent = true;
	assert_int_equal(rdma_new(&rdma), 0);
	assert_int_equal(rdma_device_of(rdma, &context, &device), -ENOMEM);
	assert_int_equal(num_domains, 0);
	is_silent = false;
	assert_int_equal(rdma_device_of(rdma, &context, &device), 0);
	assert_true(device->has_windows);
}

static void without_windows_no_memory_of_guests_is_registered(void **state)
{
	struct rdma_memory *memory;
	struct ibv_mr *region;

	(void)state;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW); /* type 1 belongs to no queue pair */
	assert_int_equal(rdma_memory_new(rdma, RDMA_ASKS, pool, sizeof(pool), &memory), 0);
	assert_int_equal(rdma_region_of(device, RDMA_ASKS, pool, 1, &region), -EOPNOTSUPP);
	assert_int_equal(registered.count, 0);
	rdma_memory_free(memory);
}

static void without_windows_each_queue_pair_has_its_own_domain(void **state)
{
	struct ibv_mr *region;

	(void)state;
	make(RDMA_ASKS, 0);
	for (unsigned side = 0; side < RDMA_SIDES; side++)
		assert_ptr_not_equal(end.domain, device->domains[side]);
	assert_int_equal(rdma_end_register(&end, buffers, sizeof(buffers), &region), 0);
	assert_ptr_equal(registered.domain, end.domain);
	assert_int_equal(registered.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(expose(region, buffers), region->rkey);
	assert_int_equal(rdma_end_withdraw(&end, SLOT), 0);
	assert_int_equal(num_withdrawn, 1);
	assert_int_equal(num_posted, 0);
}

static void buffers_of_a_queue_pair_with_windows_need_one_too(void **state)
{
	struct ibv_mr *region;

	(void)state;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_int_equal(rdma_end_register(&end, buffers, sizeof(buffers), &region), 0);
	assert_int_equal(registered.access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	expose(region, buffers);
	assert_int_equal(posted.bind_mw.bind_info.addr, (uintptr_t)buffers);
}

/* True if a READ can follow a message that is still under way. */
static bool can_send_behind_a_message(unsigned vendor_id)
{
	static unsigned numbers[MESSAGES];
	static struct ibv_mr region;
	bool can;

	vendor = vendor_id;
	make(RDMA_ASKS, IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	vendor = 0;
	end.buffers_region = &region;
	end.free_buffers = numbers;
	end.num_free = MESSAGES;
	assert_true(rdma_end_can_send(&end));
	assert_int_equal(rdma_end_send(&end, buffers, 1), 0);
	can = rdma_end_can_send(&end);
	complete_with(IBV_WC_SEND, 0);
	assert_int_equal(rdma_end_take_completions(&end), 0);
	assert_true(rdma_end_can_send(&end));
	return can;
}

/* A READ needs a bind.  Soft-RoCE would repeat the bind if it sent the message again. */
static void on_soft_roce_nothing_is_bound_behind_a_message(void **state)
{
	(void)state;
	assert_false(can_send_behind_a_message(SOFT_ROCE));
}

static void other_adapters_bind_behind_messages(void **state)
{
	(void)state;
	assert_true(can_send_behind_a_message(SOFT_ROCE - 1));
}

static void who_answers_exposes_nothing(void **state)
{
	(void)state;
	make(RDMA_ANSWERS, 0);
	assert_ptr_equal(end.domain, device->domains[RDMA_ANSWERS]);
	assert_int_equal(rdma_end_window_work(&end), 0);
	assert_null(end.windows);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_key_of_a_guests_memory_lets_others_write),
		TEST(a_window_is_one_place_with_another_key_each_time),
		TEST(a_place_is_withdrawn_when_the_adapter_says_so),
		TEST(the_other_host_may_not_invalidate),
		TEST(an_adapter_that_would_tell_of_nothing_more_ends_the_queue_pair),
		TEST(memory_that_could_not_be_registered_is_tried_again),
		TEST(an_adapter_that_tells_nothing_is_asked_again),
		TEST(without_windows_no_memory_of_guests_is_registered),
		TEST(without_windows_each_queue_pair_has_its_own_domain),
		TEST(buffers_of_a_queue_pair_with_windows_need_one_too),
		TEST(on_soft_roce_nothing_is_bound_behind_a_message),
		TEST(other_adapters_bind_behind_messages),
		TEST(who_answers_exposes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
