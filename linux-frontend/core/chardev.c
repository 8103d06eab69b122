// SPDX-License-Identifier: GPL-2.0
/*
 * Implements chardev.h: the system calls that vread_ioctl.h describes, with a check of everything
 * that a process passes.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "file.h"
#include "link.h"
#include "request.h"

/* ---- ioctls ---- */

union vread_args {
	struct vread_ioc_info info;
	struct vread_ioc_slice slice;
	struct vread_ioc_open open;
	struct vread_ioc_stat stat;
	struct vread_ioc_submit submit;
	struct vread_ioc_reap reap;
	struct vread_ioc_publish publish;
	struct vread_ioc_keys keys;
	u32 handle;
};

static long ioc_info(struct vread_file *file, union vread_args *args)
{
	struct vread_device *dev = file->dev;
	struct vread_pool *pool = smp_load_acquire(&dev->pool); /* pairs with create_pool() */
	struct vread_ioc_info *info = &args->info;

	*info = (struct vread_ioc_info){
		.abi = VREAD_IOC_ABI,
		.connected = READ_ONCE(dev->up),
		.generation = READ_ONCE(dev->generation),
		.max_in_flight = VREAD_FILE_READS,
		.slice_bytes = (u64)READ_ONCE(file->slice_pages) * VREAD_PAGE_SIZE,
	};
	strscpy(info->role, READ_ONCE(dev->role), sizeof(info->role));
	if (pool) {
		info->pool_bytes = (u64)vread_pool_slice_pages(pool) * VREAD_PAGE_SIZE;
		info->pool_free_bytes = (u64)vread_pool_free_pages(pool) * VREAD_PAGE_SIZE;
	}
	return 0;
}

static long ioc_slice(struct vread_file *file, union vread_args *args)
{
	return vread_file_take_slice(file, &args->slice.bytes);
}

static int may_open(const struct vread_file *file)
{
	return file->publishes ? -EACCES : 0;
}

/* Opens a block in reserved room. */
static int open_block(struct vread_file *file, struct vread_ioc_open *open)
{
	struct vread_handle *handle;
	int ret;

	ret = vread_open_block(file->dev, file->user, open, &handle);
	if (ret)
		return ret;
	ret = vread_file_add_handle(file, handle, &open->handle);
	if (ret) {
		vread_handle_put(handle);
		vread_link_flush_closes(file->dev);
	}
	return ret;
}

static long ioc_open(struct vread_file *file, union vread_args *args)
{
	int ret = vread_file_reserve_handle(file);

	if (ret)
		return ret;
	ret = open_block(file, &args->open);
	if (ret)
		vread_file_unreserve_handle(file);
	return ret;
}

static void undo_open(struct vread_file *file, const union vread_args *args)
{
	vread_file_close_handle(file, args->open.handle);
}

static long ioc_close(struct vread_file *file, union vread_args *args)
{
	return vread_file_close_handle(file, args->handle);
}

static long ioc_stat(struct vread_file *file, union vread_args *args)
{
	struct vread_handle *handle;
	int ret;

	if (args->stat.reserved)
		return -EINVAL;
	handle = vread_file_handle(file, args->stat.handle);
	if (!handle)
		return -EBADF;
	ret = vread_stat_block(handle, file->user, &args->stat);
	vread_handle_put(handle);
	vread_link_flush_closes(file->dev);
	return ret;
}

/* Publishing changes what others read. */
static int may_publish(const struct vread_file *file)
{
	if (!file->publishes)
		return -EACCES;
	return file->writable ? 0 : -EBADF;
}

static long ioc_publish(struct vread_file *file, union vread_args *args)
{
	return vread_publish_event(file->dev, file->user, &args->publish);
}

static long ioc_keys(struct vread_file *file, union vread_args *args)
{
	return vread_publish_keys(file->dev, file->user, &args->keys);
}

static long ioc_submit(struct vread_file *file, union vread_args *args)
{
	const struct vread_ioc_submit *submit = &args->submit;
	struct vread_ioc_read __user *from = u64_to_user_ptr(submit->reads);
	struct vread_ioc_read read;
	unsigned int n;
	int ret = 0;

	if (submit->reserved || !submit->count || submit->count > 256)
		return -EINVAL;
	for (n = 0; n < submit->count; n++) {
		ret = -EFAULT;
		if (copy_from_user(&read, from + n, sizeof(read)))
			break;
		ret = vread_file_submit(file, &read);
		if (ret)
			break;
	}
	vread_link_flush_closes(file->dev);
	return n ? n : ret;
}

static long ioc_reap(struct vread_file *file, union vread_args *args)
{
	const struct vread_ioc_reap *reap = &args->reap;

	if (reap->reserved || !reap->count || reap->count > 256 || reap->min_complete > reap->count)
		return -EINVAL;
	return vread_file_reap(file, reap);
}

struct operation {
	unsigned int cmd;
	int (*allowed)(const struct vread_file *file); /* NULL: to all */
	long (*run)(struct vread_file *file, union vread_args *args);
	/* It succeeded, but the process cannot be told.  NULL: nothing is to be undone. */
	void (*undo)(struct vread_file *file, const union vread_args *args);
	bool when_gone; /* also on a device that is gone */
};

static const struct operation operations[] = {
	[_IOC_NR(VREAD_IOC_INFO)] = {VREAD_IOC_INFO, .run = ioc_info},
	[_IOC_NR(VREAD_IOC_SLICE)] = {VREAD_IOC_SLICE, .run = ioc_slice},
	[_IOC_NR(VREAD_IOC_OPEN)] = {VREAD_IOC_OPEN, may_open, ioc_open, .undo = undo_open},
	[_IOC_NR(VREAD_IOC_CLOSE)] = {VREAD_IOC_CLOSE, .run = ioc_close, .when_gone = true},
	[_IOC_NR(VREAD_IOC_STAT)] = {VREAD_IOC_STAT, .run = ioc_stat},
	[_IOC_NR(VREAD_IOC_SUBMIT)] = {VREAD_IOC_SUBMIT, .run = ioc_submit},
	[_IOC_NR(VREAD_IOC_REAP)] = {VREAD_IOC_REAP, .run = ioc_reap, .when_gone = true},
	[_IOC_NR(VREAD_IOC_PUBLISH)] = {VREAD_IOC_PUBLISH, may_publish, ioc_publish},
	[_IOC_NR(VREAD_IOC_KEYS)] = {VREAD_IOC_KEYS, may_publish, ioc_keys},
};

/* The number says how long the caller's struct is.  NULL: no operation, or a struct that is shorter
 * than it was in the first version. */
static const struct operation *find_operation(unsigned int cmd)
{
	unsigned int number = _IOC_NR(cmd);
	const struct operation *op;

	if (number >= ARRAY_SIZE(operations))
		return NULL;
	op = &operations[array_index_nospec(number, ARRAY_SIZE(operations))];
	if ((op->cmd ^ cmd) & ~IOCSIZE_MASK || _IOC_SIZE(cmd) < _IOC_SIZE(op->cmd))
		return NULL;
	return op;
}

static long run_operation(struct vread_file *file, const struct operation *op, unsigned int size,
			  void __user *arg)
{
	unsigned int known = _IOC_SIZE(op->cmd);
	union vread_args args = {};
	long ret = op->allowed ? op->allowed(file) : 0;

	if (!ret && _IOC_DIR(op->cmd) & _IOC_WRITE)
		ret = copy_struct_from_user(&args, known, arg, size);
	if (!ret)
		ret = op->run(file, &args);
	if (ret >= 0 && _IOC_DIR(op->cmd) & _IOC_READ && copy_to_user(arg, &args, known)) {
		if (op->undo)
			op->undo(file, &args);
		ret = -EFAULT;
	}
	return ret;
}

static long vread_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct vread_file *file = filp->private_data;
	const struct operation *op = find_operation(cmd);
	struct vread_device *dev = file->dev;
	long ret;

	if (!op)
		return -ENOTTY;
	if (READ_ONCE(dev->gone) && !op->when_gone)
		return -ENODEV;
	ret = run_operation(file, op, _IOC_SIZE(cmd), (void __user *)arg);
	if (ret == -ENOTCONN && READ_ONCE(dev->gone))
		return -ENODEV;
	return ret;
}

/* ---- the rest ---- */

static __poll_t vread_poll(struct file *filp, poll_table *wait)
{
	struct vread_file *file = filp->private_data;
	struct vread_device *dev = file->dev;
	__poll_t mask = 0;

	poll_wait(filp, &file->waiter.wq, wait);
	poll_wait(filp, &dev->wq, wait);
	if (!list_empty_careful(&file->done))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (vread_file_can_submit(file))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (!READ_ONCE(dev->up))
		mask |= EPOLLERR;
	if (READ_ONCE(dev->gone))
		mask |= EPOLLHUP;
	return mask;
}

/* Only pages that vread_chardev_move_pool() took away can be missing. */
static vm_fault_t vread_fault(struct vm_fault *vmf)
{
	struct vread_file *file = vmf->vma->vm_file->private_data;
	struct vread_device *dev = file->dev;
	vm_fault_t ret;
	int users;

	users = srcu_read_lock(&dev->users);
	ret = vread_pool_fault(dev->pool, file->slice_first + vmf->pgoff, vmf);
	srcu_read_unlock(&dev->users, users);
	return ret;
}
EXPORT_SYMBOL_GPL(vread_chardev_move_pool);

static const struct vm_operations_struct vread_vm_ops = {.fault = vread_fault};

void vread_chardev_move_pool(struct vread_device *dev)
{
	if (!dev->pool)
		return;
	synchronize_srcu(&dev->users); /* nobody writes to pages from now on: the device is gone */
	vread_pool_move(dev->pool);
	synchronize_srcu(&dev->users); /* nobody maps old pages from now on */
	vread_files_unmap(dev);
}

static int vread_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct vread_file *file = filp->private_data;
	unsigned int pages = smp_load_acquire(&file->slice_pages); /* pairs with take_slice() */
	int users, ret;

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	if (!pages || vma->vm_pgoff || vma_pages(vma) > pages)
		return -EINVAL;
	vma->vm_ops = &vread_vm_ops;
	users = srcu_read_lock(&file->dev->users);
	ret = vread_pool_mmap(file->dev->pool, file->slice_first, vma);
	srcu_read_unlock(&file->dev->users, users);
	return ret;
}

static int vread_open(struct inode *inode, struct file *filp)
{
	/* The device stays during this call: misc_deregister() waits for open calls. */
	struct vread_node *node = container_of(filp->private_data, struct vread_node, misc);
	struct module *owner = node->dev->attach->owner;
	struct vread_file *file;

	if (!try_module_get(owner))
		return -ENODEV;
	file = vread_file_create(node->dev, filp->f_mapping);
	if (!file) {
		module_put(owner);
		return -ENOMEM;
	}
	file->publishes = node->publishes;
	file->writable = filp->f_mode & FMODE_WRITE;
	filp->private_data = file;
	return stream_open(inode, filp);
}

/* vread(4) describes the lines. */
static void vread_show_fdinfo(struct seq_file *out, struct file *filp)
{
	struct vread_file *file = filp->private_data;
	struct vread_device *dev = file->dev;

	seq_printf(out, "vread-connected:\t%u\n", READ_ONCE(dev->up));
	seq_printf(out, "vread-generation:\t%u\n", READ_ONCE(dev->generation));
	seq_printf(out, "vread-user:\t%u\n", from_kuid_munged(current_user_ns(), file->user->id));
	seq_printf(out, "vread-slice-bytes:\t%zu\n",
		   (size_t)READ_ONCE(file->slice_pages) * VREAD_PAGE_SIZE);
	seq_printf(out, "vread-handles:\t%u\n", READ_ONCE(file->num_handles));
	seq_printf(out, "vread-reads-in-flight:\t%u\n", READ_ONCE(file->num_in_flight));
	seq_printf(out, "vread-reads-done:\t%u\n", READ_ONCE(file->num_done));
}

static int vread_release(struct inode *inode, struct file *filp)
{
	struct vread_file *file = filp->private_data;
	struct module *owner = file->dev->attach->owner;

	vread_file_close(file);
	module_put(owner);
	return 0;
}

const struct file_operations vread_fops = {
	.owner = THIS_MODULE,
	.open = vread_open,
	.release = vread_release,
	.unlocked_ioctl = vread_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = vread_poll,
	.mmap = vread_mmap,
	.show_fdinfo = vread_show_fdinfo,
	.llseek = noop_llseek,
};
