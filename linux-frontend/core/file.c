// SPDX-License-Identifier: GPL-2.0
/*
 * Implements file.h: the handles of an open file, its slice and its READs.
 *
 * The memory for all READs is allocated together with the slice, so submitting and completing
 * allocate nothing.  A page of the slice belongs to at most one READ in flight.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "check.h"
#include "file.h"
#include "link.h"
#include "wait.h"

/* ---- life ---- */

struct vread_file *vread_file_create(struct vread_device *dev, struct address_space *mapping)
{
	struct vread_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	file->user = vread_user_get(&dev->shares);
	if (!file->user) {
		kfree(file);
		return NULL;
	}
	kref_init(&file->ref);
	kref_get(&dev->ref);
	file->dev = dev;
	xa_init_flags(&file->handles, XA_FLAGS_ALLOC1);
	mutex_init(&file->slice_mutex);
	spin_lock_init(&file->lock);
	INIT_LIST_HEAD(&file->idle);
	INIT_LIST_HEAD(&file->done);
	init_waitqueue_head(&file->waiter.wq);
	file->waiter.mapping = mapping;
	mutex_lock(&dev->waiters_mutex);
	spin_lock_irq(&dev->lock);
	list_add_tail(&file->waiter.node, &dev->waiters);
	spin_unlock_irq(&dev->lock);
	mutex_unlock(&dev->waiters_mutex);
	return file;
}

static void file_release(struct kref *ref)
{
	struct vread_file *file = container_of(ref, struct vread_file, ref);
	struct vread_device *dev = file->dev;

	if (file->slice_pages) {
		vread_pool_give(dev->pool, file->slice_first, file->slice_pages);
		vread_share_give(file->user, VREAD_SHARE_SLICES, file->slice_pages);
	}
	vread_user_put(file->user);
	kfree(file->reads);
	bitmap_free(file->busy);
	kfree(file);
	/* This is never the last reference while a lock is held: the driver holds one, too, and
	 * outlives all requests. */
	vread_device_put(dev);
}

/* Any context. */
static void file_put(struct vread_file *file)
{
	kref_put(&file->ref, file_release);
}

void vread_file_close(struct vread_file *file)
{
	struct vread_device *dev = file->dev;
	struct vread_handle *handle;
	unsigned long number;

	mutex_lock(&dev->waiters_mutex);
	spin_lock_irq(&dev->lock);
	list_del(&file->waiter.node);
	spin_unlock_irq(&dev->lock);
	mutex_unlock(&dev->waiters_mutex);
	xa_for_each(&file->handles, number, handle) vread_handle_put(handle);
	xa_destroy(&file->handles);
	vread_link_flush_closes(dev);
	file_put(file);
}

void vread_files_unmap(struct vread_device *dev)
{
	struct vread_waiter *waiter;

	mutex_lock(&dev->waiters_mutex);
	list_for_each_entry(waiter, &dev->waiters, node)
		unmap_mapping_range(waiter->mapping, 0, 0, 1);
	mutex_unlock(&dev->waiters_mutex);
}

/* ---- handles ---- */

struct vread_handle *vread_file_handle(struct vread_file *file, u32 number)
{
	struct vread_handle *handle;

	xa_lock(&file->handles);
	handle = xa_load(&file->handles, number);
	if (handle)
		kref_get(&handle->ref);
	xa_unlock(&file->handles);
	return handle;
}

int vread_file_reserve_handle(struct vread_file *file)
{
	bool room;

	xa_lock(&file->handles);
	room = file->num_handles < VREAD_FILE_HANDLES;
	if (room)
		file->num_handles++;
	xa_unlock(&file->handles);
	return room ? 0 : -EMFILE;
}

void vread_file_unreserve_handle(struct vread_file *file)
{
	xa_lock(&file->handles);
	file->num_handles--;
	xa_unlock(&file->handles);
}

int vread_file_add_handle(struct vread_file *file, struct vread_handle *handle, u32 *ret_number)
{
	int ret = xa_alloc_cyclic(&file->handles, ret_number, handle, XA_LIMIT(1, U32_MAX),
				  &file->next_handle, GFP_KERNEL_ACCOUNT);

	return ret == 1 ? 0 : ret; /* 1: the numbers began anew */
}

int vread_file_close_handle(struct vread_file *file, u32 number)
{
	struct vread_handle *handle;

	xa_lock(&file->handles);
	handle = __xa_erase(&file->handles, number);
	if (handle)
		file->num_handles--;
	xa_unlock(&file->handles);
	if (!handle)
		return -EBADF;
	vread_handle_put(handle);
	vread_link_flush_closes(file->dev);
	return 0;
}

/* ---- slice ---- */

/* False: the device is gone, and so are the pages. */
static bool zero_slice(struct vread_file *file, struct vread_pool *pool, unsigned int pages)
{
	struct vread_device *dev = file->dev;
	int users = srcu_read_lock(&dev->users);
	bool there = !READ_ONCE(dev->gone);

	if (there)
		vread_pool_zero(pool, file->slice_first, pages);
	srcu_read_unlock(&dev->users, users);
	return there;
}

/* Takes pages of the pool, and charges the user for them. */
static int take_pages(struct vread_file *file, struct vread_pool *pool, unsigned int pages)
{
	int ret;

	if (!vread_share_take(file->user, VREAD_SHARE_SLICES, pages))
		return -ENOSPC;
	ret = vread_pool_take(pool, VREAD_AREA_SLICES, pages, &file->slice_first);
	if (!ret && !zero_slice(file, pool, pages)) {
		vread_pool_give(pool, file->slice_first, pages);
		ret = -ENODEV;
	}
	if (ret)
		vread_share_give(file->user, VREAD_SHARE_SLICES, pages);
	return ret;
}

static int take_slice(struct vread_file *file, struct vread_pool *pool, unsigned int pages)
{
	struct vread_read *reads;
	unsigned long *busy;
	unsigned int n;
	int ret = -ENOMEM;

	reads = kcalloc(VREAD_FILE_READS, sizeof(*reads), GFP_KERNEL_ACCOUNT);
	busy = bitmap_zalloc(pages, GFP_KERNEL_ACCOUNT);
	if (reads && busy)
		ret = take_pages(file, pool, pages);
	if (ret) {
		kfree(reads);
		bitmap_free(busy);
		return ret;
	}

	file->reads = reads;
	file->busy = busy;
	spin_lock_irq(&file->lock);
	for (n = 0; n < VREAD_FILE_READS; n++)
		list_add_tail(&reads[n].node, &file->idle);
	spin_unlock_irq(&file->lock);
	smp_store_release(&file->slice_pages, pages); /* its reader sees the members above */
	return 0;
}

int vread_file_take_slice(struct vread_file *file, u64 *bytes)
{
	struct vread_pool *pool = smp_load_acquire(&file->dev->pool); /* pairs with create_pool() */
	u64 pages;
	int ret;

	if (!*bytes)
		return -EINVAL;
	if (!pool)
		return -ENOTCONN;
	pages = *bytes / VREAD_PAGE_SIZE + !!(*bytes % VREAD_PAGE_SIZE);
	if (pages > vread_pool_slice_pages(pool))
		return -ENOSPC;
	if (mutex_lock_killable(&file->slice_mutex))
		return -EINTR;
	ret = file->slice_pages ? -EBUSY : take_slice(file, pool, pages);
	mutex_unlock(&file->slice_mutex);
	if (!ret)
		*bytes = pages * VREAD_PAGE_SIZE;
	return ret;
}

/* ---- submit ---- */

static void read_complete(struct vread_req *req, int status, const struct vread_response *rsp)
{
	struct vread_read *read = container_of(req, struct vread_read, req);
	struct vread_handle *handle = read->handle;
	struct vread_file *file = read->file;
	unsigned long flags;

	vread_link_taken(req);
	spin_lock_irqsave(&file->lock, flags);
	read->result = status;
	read->crc32c = status > 0 ? rsp->u.read.crc32c : 0;
	bitmap_clear(file->busy, read->page, read->pages);
	list_add_tail(&read->node, &file->done);
	file->num_in_flight--;
	file->num_done++;
	spin_unlock_irqrestore(&file->lock, flags);

	wake_up_poll(&file->waiter.wq, EPOLLIN | EPOLLRDNORM);
	vread_handle_put(handle);
	file_put(file);
}

/* Reserves a READ and its pages.  0, -EBUSY: a page is in use, or -EAGAIN: no READ is idle. */
static int take_read(struct vread_file *file, unsigned int page, unsigned int pages,
		     struct vread_read **ret_read)
{
	struct vread_read *read = NULL;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&file->lock, flags);
	if (find_next_bit(file->busy, page + pages, page) < page + pages) {
		ret = -EBUSY;
	} else if (list_empty(&file->idle)) {
		ret = -EAGAIN;
	} else {
		read = list_first_entry(&file->idle, struct vread_read, node);
		list_del(&read->node);
		bitmap_set(file->busy, page, pages);
		file->num_in_flight++;
		read->page = page;
		read->pages = pages;
		*ret_read = read;
	}
	spin_unlock_irqrestore(&file->lock, flags);
	return ret;
}

static void untake_read(struct vread_file *file, struct vread_read *read)
{
	unsigned long flags;

	spin_lock_irqsave(&file->lock, flags);
	bitmap_clear(file->busy, read->page, read->pages);
	file->num_in_flight--;
	list_add(&read->node, &file->idle);
	spin_unlock_irqrestore(&file->lock, flags);
}

static int start_read(struct vread_file *file, struct vread_handle *handle,
		      const struct vread_ioc_read *args)
{
	unsigned int page = args->slice_offset / VREAD_PAGE_SIZE;
	unsigned int pages = DIV_ROUND_UP(args->length, VREAD_PAGE_SIZE);
	struct vread_request wire = {
		.operation = VREAD_OP_READ,
		.pool_page = file->slice_first + page,
		.pool_pages = pages,
		.handle = handle->backend,
		.u.read = {.offset = args->offset, .length = args->length},
	};
	struct vread_read *read;
	int ret;

	ret = take_read(file, page, pages, &read);
	if (ret)
		return ret;
	read->req.operation = VREAD_OP_READ;
	read->req.max_status = args->length;
	read->req.complete = read_complete;
	read->req.user = file->user;
	read->file = file;
	read->handle = handle;
	read->user_data = args->user_data;
	kref_get(&file->ref);
	kref_get(&handle->ref);
	ret = vread_link_put(file->dev, &read->req, &wire, handle->generation);
	if (ret) {
		untake_read(file, read);
		vread_handle_put(handle);
		file_put(file);
	}
	return ret;
}

int vread_file_submit(struct vread_file *file, const struct vread_ioc_read *args)
{
	/* Pairs with take_slice(). */
	unsigned int slice_pages = smp_load_acquire(&file->slice_pages);
	struct vread_handle *handle;
	int ret;

	ret = vread_check_read(args, (u64)slice_pages * VREAD_PAGE_SIZE);
	if (ret)
		return ret;
	handle = vread_file_handle(file, args->handle);
	if (!handle)
		return -EBADF;
	ret = start_read(file, handle, args);
	vread_handle_put(handle);
	return ret;
}

bool vread_file_can_submit(struct vread_file *file)
{
	return READ_ONCE(file->dev->up) && !list_empty_careful(&file->idle) &&
	       vread_link_has_room(file->dev, file->user);
}

/* ---- reap ---- */

/* True if `want` READs are done, or no more can complete. */
static bool reap_ready(struct vread_file *file, unsigned int want)
{
	struct vread_device *dev = file->dev;
	unsigned long flags;
	bool ready;

	spin_lock_irqsave(&file->lock, flags);
	ready = file->num_done >= want || READ_ONCE(dev->gone) ||
		(!file->num_in_flight && !READ_ONCE(dev->up));
	spin_unlock_irqrestore(&file->lock, flags);
	return ready;
}

static struct vread_read *take_done(struct vread_file *file)
{
	struct vread_read *read;
	unsigned long flags;

	spin_lock_irqsave(&file->lock, flags);
	read = list_first_entry_or_null(&file->done, struct vread_read, node);
	if (read) {
		list_del(&read->node);
		file->num_done--;
	}
	spin_unlock_irqrestore(&file->lock, flags);
	return read;
}

/* Gives a READ back.  stored: its completion was stored, and the READ can be used again.  Not
 * stored: the READ is reaped another time. */
static void give_back(struct vread_file *file, struct vread_read *read, bool stored)
{
	unsigned long flags;

	spin_lock_irqsave(&file->lock, flags);
	if (stored) {
		list_add(&read->node, &file->idle);
	} else {
		list_add(&read->node, &file->done);
		file->num_done++;
	}
	spin_unlock_irqrestore(&file->lock, flags);
}

static int store_completions(struct vread_file *file, const struct vread_ioc_reap *args)
{
	struct vread_ioc_completion __user *to = u64_to_user_ptr(args->completions);
	struct vread_read *read;
	bool stored = true;
	unsigned int n;

	for (n = 0; n < args->count; n++) {
		struct vread_ioc_completion done = {};

		read = take_done(file);
		if (!read)
			break;
		done.user_data = read->user_data;
		done.result = read->result;
		done.crc32c = read->crc32c;
		stored = !copy_to_user(to + n, &done, sizeof(done));
		give_back(file, read, stored);
		if (!stored)
			break;
	}
	if (!stored)
		wake_up_poll(&file->waiter.wq, EPOLLIN | EPOLLRDNORM); /* it can be reaped again */
	if (n && wq_has_sleeper(&file->waiter.wq))
		wake_up_poll(&file->waiter.wq, EPOLLOUT | EPOLLWRNORM); /* room to submit */
	return n || stored ? (int)n : -EFAULT;
}

int vread_file_reap(struct vread_file *file, const struct vread_ioc_reap *args)
{
	unsigned int want = min(args->min_complete, VREAD_FILE_READS);
	struct vread_device *dev = file->dev;
	long left = MAX_SCHEDULE_TIMEOUT;
	int ret;

	if (!want)
		return store_completions(file, args);
	if (args->timeout_ms)
		left = msecs_to_jiffies(args->timeout_ms);
	do {
		left = vread_wait(file->waiter.wq, reap_ready(file, want), left);
		if (!left)
			vread_link_recheck(dev); /* the event of a backend's death may be lost */
		ret = store_completions(file, args);
		/* No completion, but time is left: another thread took them. */
	} while (!ret && left > 0 && READ_ONCE(dev->up) && !READ_ONCE(dev->gone));
	if (ret)
		return ret;
	if (left < 0)
		return -EINTR;
	return left ? -ENOTCONN : -ETIME;
}
