// SPDX-License-Identifier: GPL-2.0
/*
 * Implements chardev.h: the system calls that vread_ioctl.h describes, with a check of everything
 * that a process passes.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "file.h"
#include "link.h"
#include "request.h"

/* ---- ioctls ---- */

static long ioc_info(struct vread_file *file, void __user *arg)
{
	struct vread_device *dev = file->dev;
	struct vread_pool *pool = smp_load_acquire(&dev->pool);
	struct vread_ioc_info info = {
		.abi = VREAD_IOC_ABI,
		.connected = READ_ONCE(dev->up),
		.generation = READ_ONCE(dev->generation),
		.max_in_flight = VREAD_FILE_READS,
		.slice_bytes = (u64)READ_ONCE(file->slice_pages) * VREAD_PAGE_SIZE,
	};

	strscpy(info.role, READ_ONCE(dev->role), sizeof(info.role));
	if (pool) {
		info.pool_bytes = (u64)vread_pool_slice_pages(pool) * VREAD_PAGE_SIZE;
		info.pool_free_bytes = (u64)vread_pool_free_pages(pool) * VREAD_PAGE_SIZE;
	}
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static long ioc_slice(struct vread_file *file, void __user *arg)
{
	struct vread_ioc_slice slice;
	int ret;

	if (copy_from_user(&slice, arg, sizeof(slice)))
		return -EFAULT;
	ret = vread_file_take_slice(file, &slice.bytes);
	if (ret)
		return ret;
	return copy_to_user(arg, &slice, sizeof(slice)) ? -EFAULT : 0;
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

static long ioc_open(struct vread_file *file, void __user *arg)
{
	struct vread_ioc_open open;
	int ret;

	if (file->publishes)
		return -EACCES;
	if (copy_from_user(&open, arg, sizeof(open)))
		return -EFAULT;
	ret = vread_file_reserve_handle(file);
	if (ret)
		return ret;
	ret = open_block(file, &open);
	if (ret) {
		vread_file_unreserve_handle(file);
		return ret;
	}
	if (copy_to_user(arg, &open, sizeof(open))) {
		vread_file_close_handle(file, open.handle);
		return -EFAULT;
	}
	return 0;
}

static long ioc_close(struct vread_file *file, void __user *arg)
{
	u32 number;

	if (copy_from_user(&number, arg, sizeof(number)))
		return -EFAULT;
	return vread_file_close_handle(file, number);
}

static long ioc_stat(struct vread_file *file, void __user *arg)
{
	struct vread_handle *handle;
	struct vread_ioc_stat stat;
	int ret;

	if (copy_from_user(&stat, arg, sizeof(stat)))
		return -EFAULT;
	if (stat.reserved)
		return -EINVAL;
	handle = vread_file_handle(file, stat.handle);
	if (!handle)
		return -EBADF;
	ret = vread_stat_block(handle, file->user, &stat);
	vread_handle_put(handle);
	vread_link_flush_closes(file->dev);
	if (ret)
		return ret;
	return copy_to_user(arg, &stat, sizeof(stat)) ? -EFAULT : 0;
}

static long ioc_publish(struct vread_file *file, void __user *arg)
{
	struct vread_ioc_publish publish;

	if (!file->publishes)
		return -EACCES;
	if (copy_from_user(&publish, arg, sizeof(publish)))
		return -EFAULT;
	return vread_publish_event(file->dev, file->user, &publish);
}

static long ioc_keys(struct vread_file *file, void __user *arg)
{
	struct vread_ioc_keys keys;

	if (!file->publishes)
		return -EACCES;
	if (copy_from_user(&keys, arg, sizeof(keys)))
		return -EFAULT;
	return vread_publish_keys(file->dev, file->user, &keys);
}

static long ioc_submit(struct vread_file *file, void __user *arg)
{
	struct vread_ioc_read __user *from;
	struct vread_ioc_submit submit;
	struct vread_ioc_read read;
	unsigned int n;
	int ret = 0;

	if (copy_from_user(&submit, arg, sizeof(submit)))
		return -EFAULT;
	if (submit.reserved || !submit.count || submit.count > 256)
		return -EINVAL;
	from = u64_to_user_ptr(submit.reads);
	for (n = 0; n < submit.count; n++) {
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

static long ioc_reap(struct vread_file *file, void __user *arg)
{
	struct vread_ioc_reap reap;

	if (copy_from_user(&reap, arg, sizeof(reap)))
		return -EFAULT;
	if (reap.reserved || !reap.count || reap.count > 256 || reap.min_complete > reap.count)
		return -EINVAL;
	return vread_file_reap(file, &reap);
}

static long dispatch(struct vread_file *file, unsigned int cmd, void __user *arg)
{
	switch (cmd) {
	case VREAD_IOC_INFO:
		return ioc_info(file, arg);
	case VREAD_IOC_SLICE:
		return ioc_slice(file, arg);
	case VREAD_IOC_OPEN:
		return ioc_open(file, arg);
	case VREAD_IOC_CLOSE:
		return ioc_close(file, arg);
	case VREAD_IOC_STAT:
		return ioc_stat(file, arg);
	case VREAD_IOC_SUBMIT:
		return ioc_submit(file, arg);
	case VREAD_IOC_REAP:
		return ioc_reap(file, arg);
	case VREAD_IOC_PUBLISH:
		return ioc_publish(file, arg);
	case VREAD_IOC_KEYS:
		return ioc_keys(file, arg);
	default:
		return -ENOTTY;
	}
}

static long vread_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct vread_file *file = filp->private_data;
	struct vread_device *dev = file->dev;
	bool cleaning = cmd == VREAD_IOC_REAP || cmd == VREAD_IOC_CLOSE;
	long ret;

	/* On a device that is gone, READs can still be reaped and handles closed. */
	if (READ_ONCE(dev->gone) && !cleaning)
		return -ENODEV;
	ret = dispatch(file, cmd, (void __user *)arg);
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
	unsigned int pages = smp_load_acquire(&file->slice_pages);
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
	struct vread_file *file = vread_file_create(node->dev, filp->f_mapping);

	if (!file)
		return -ENOMEM;
	file->publishes = node->publishes;
	filp->private_data = file;
	return stream_open(inode, filp);
}

static int vread_release(struct inode *inode, struct file *filp)
{
	vread_file_close(filp->private_data);
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
	.llseek = noop_llseek,
};
