// SPDX-License-Identifier: GPL-2.0
/*
 * vread-ivshmem: the transport of KVM and QEMU, as vread-ivshmem.h describes it.  Its devices are
 * PCI devices, ivshmem-doorbell.  Offer, answer and states are words in page 0 of the memory that
 * guest and host share, rings and pool lie behind page 0, and events are interrupts and a doorbell.
 *
 * The interrupt of vector 0 only queues the device's work, which looks at the backend's word.
 *
 * When the device is removed, its memory goes away.  Processes may not have looked yet at bytes
 * that they were told of.  So the used pages move to ordinary memory first.
 */
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core/chardev.h"
#include "core/connect.h"
#include "core/device.h"
#include "core/params.h"
#include "vread-ivshmem.h"

VREAD_MODULE_PARAMS(params);

/* QEMU's docs/specs/ivshmem-spec.rst */
#define IVSHMEM_VENDOR 0x1af4
#define IVSHMEM_DEVICE 0x1110
#define IVSHMEM_REVISION 1
#define BAR_REGISTERS 0
#define BAR_MEMORY 2
#define REGISTER_DOORBELL 12

struct pci_device {
	struct vread_device dev;
	struct pci_dev *pdev;
	void __iomem *registers;
	char *memory; /* BAR 2 */
	phys_addr_t base;
	u32 memory_pages;
	unsigned int vectors;
	int id;          /* of ids */
	u32 epoch;       /* that this side's word names */
	u32 ring_stride; /* pages from one ring to the next */
	u32 pool_first;  /* page of the memory */
	char irq_name[1 + VREAD_MAX_QUEUES][32];
};

static DEFINE_IDA(ids);

static struct pci_device *to_pci(struct vread_device *dev)
{
	return container_of(dev, struct pci_device, dev);
}

static struct vread_ivshmem_control *control(struct pci_device *pci)
{
	return (struct vread_ivshmem_control *)pci->memory;
}

static void *page_of(struct pci_device *pci, u32 page)
{
	return pci->memory + (size_t)page * VREAD_PAGE_SIZE;
}

static void ring_doorbell(struct pci_device *pci, unsigned int vector)
{
	writel(VREAD_IVSHMEM_HOST << 16 | vector, pci->registers + REGISTER_DOORBELL);
}

/* ---- rings and events ---- */

static int share_ring(struct vread_queue *q, unsigned int order)
{
	struct pci_device *pci = to_pci(q->dev);

	q->sring = page_of(pci, 1 + q->index * pci->ring_stride);
	memset(q->sring, 0, VREAD_PAGE_SIZE << order);
	return 0;
}

/* The memory is shared as long as the device is there. */
static void unshare_ring(struct vread_queue *q)
{
}

static int bind_irq(struct vread_queue *q, irq_handler_t handler)
{
	struct pci_device *pci = to_pci(q->dev);
	unsigned int vector = VREAD_IVSHMEM_VECTOR_QUEUE(q->index);
	char *name = pci->irq_name[vector];

	snprintf(name, sizeof(pci->irq_name[0]), "%s-q%u", pci_name(pci->pdev), q->index);
	return request_irq(pci_irq_vector(pci->pdev, vector), handler, 0, name, q);
}

static void unbind_irq(struct vread_queue *q)
{
	unsigned int vector = VREAD_IVSHMEM_VECTOR_QUEUE(q->index);

	free_irq(pci_irq_vector(to_pci(q->dev)->pdev, vector), q);
}

static void notify(struct vread_queue *q)
{
	ring_doorbell(to_pci(q->dev), VREAD_IVSHMEM_VECTOR_QUEUE(q->index));
}

static void event_done(int irq, bool spurious)
{
}

/* ---- states ---- */

static u32 backend_word(struct pci_device *pci)
{
	u32 word = READ_ONCE(control(pci)->backend);

	virt_rmb(); /* read what the word announces after the word */
	return word;
}

static enum xenbus_state backend_state(struct vread_device *dev)
{
	struct pci_device *pci = to_pci(dev);
	u32 word = backend_word(pci);

	/* Whoever answered an offer waits for the backend of that epoch, which has ended. */
	if (dev->phase != VREAD_PHASE_IDLE && VREAD_IVSHMEM_EPOCH(word) != pci->epoch)
		return XenbusStateClosed;
	return VREAD_IVSHMEM_STATE(word);
}

/* A word of another epoch than the backend's says nothing. */
static enum xenbus_state own_state(struct vread_device *dev)
{
	struct pci_device *pci = to_pci(dev);
	u32 word = READ_ONCE(control(pci)->frontend);

	if (VREAD_IVSHMEM_EPOCH(word) != VREAD_IVSHMEM_EPOCH(backend_word(pci)))
		return XenbusStateInitialising;
	return VREAD_IVSHMEM_STATE(word);
}

static void set_state(struct vread_device *dev, enum xenbus_state state)
{
	struct pci_device *pci = to_pci(dev);

	virt_wmb(); /* write what the word announces before the word */
	WRITE_ONCE(control(pci)->frontend, VREAD_IVSHMEM_WORD(pci->epoch, state));
	ring_doorbell(pci, VREAD_IVSHMEM_VECTOR_STATE);
}

static void fail(struct vread_device *dev, int err, const char *why)
{
	vread_err(dev, "%s: error %d", why, err);
	set_state(dev, XenbusStateClosing);
}

/* ---- offer and answer ---- */

static int refuse(struct vread_device *dev, const char *field, u32 value)
{
	char why[96];

	snprintf(why, sizeof(why), "the host offers %s %u, which is not possible", field, value);
	fail(dev, -EINVAL, why);
	return -EINVAL;
}

/* A copy of the offer.  Each field is read once. */
static struct vread_ivshmem_control copy_offer(struct pci_device *pci)
{
	const struct vread_ivshmem_control *there = control(pci);

	return (struct vread_ivshmem_control){
		.offered_version = READ_ONCE(there->offered_version),
		.flags = READ_ONCE(there->flags),
		.max_queues = READ_ONCE(there->max_queues),
		.max_ring_page_order = READ_ONCE(there->max_ring_page_order),
		.pool_first = READ_ONCE(there->pool_first),
		.pool_pages = READ_ONCE(there->pool_pages),
	};
}

/* Checks that rings and pool lie beside each other in the memory. */
static int check_offer(struct pci_device *pci, const struct vread_ivshmem_control *offer)
{
	struct vread_device *dev = &pci->dev;

	if (offer->offered_version != VREAD_PROTOCOL_VERSION)
		return refuse(dev, "version", offer->offered_version);
	if (!offer->max_queues || offer->max_queues > VREAD_MAX_QUEUES)
		return refuse(dev, "max_queues", offer->max_queues);
	if (offer->max_ring_page_order > VREAD_MAX_RING_PAGE_ORDER)
		return refuse(dev, "max_ring_page_order", offer->max_ring_page_order);
	if (offer->pool_pages < VREAD_MIN_POOL_PAGES || offer->pool_pages > VREAD_MAX_POOL_PAGES ||
	    offer->pool_pages > pci->memory_pages)
		return refuse(dev, "pool_pages", offer->pool_pages);
	if (offer->pool_first < 1 + (offer->max_queues << offer->max_ring_page_order) ||
	    offer->pool_first > pci->memory_pages - offer->pool_pages ||
	    (dev->pool && offer->pool_first != pci->pool_first))
		return refuse(dev, "pool_first", offer->pool_first);
	return 0;
}

static int read_offer(struct vread_device *dev, struct vread_terms *terms)
{
	struct pci_device *pci = to_pci(dev);
	struct vread_ivshmem_control offer;
	int err;

	pci->epoch = VREAD_IVSHMEM_EPOCH(backend_word(pci));
	offer = copy_offer(pci);
	err = check_offer(pci, &offer);
	if (err)
		return err;
	pci->ring_stride = 1U << offer.max_ring_page_order;
	pci->pool_first = offer.pool_first;
	*terms = (struct vread_terms){
		.queues = min(offer.max_queues, pci->vectors - 1),
		.ring_order = offer.max_ring_page_order,
		.pool_pages = offer.pool_pages,
		.events = !!(offer.flags & VREAD_IVSHMEM_PUBLISH),
		.user = !!(offer.flags & VREAD_IVSHMEM_USER),
		.role = offer.flags & VREAD_IVSHMEM_DATANODE ? "datanode" : "client",
	};
	return 0;
}

/* The pool lies in the memory of the device. */
static struct vread_pool *share_pool(struct vread_device *dev, unsigned int pages)
{
	struct pci_device *pci = to_pci(dev);
	struct vread_pool *pool = vread_pool_create(pages, NULL, NULL);
	unsigned int n;

	if (IS_ERR(pool))
		return pool;
	for (n = 0; n < pages; n++)
		pool->frame[n] = (struct vread_frame){
			.address = page_of(pci, pci->pool_first + n),
			.pfn = PHYS_PFN(pci->base) + pci->pool_first + n,
		};
	vread_pool_zero(pool, 0, pages);
	return pool;
}

/* The memory is the device's.  The states tell whether a backend uses it. */
static bool let_go(struct vread_device *dev)
{
	return true;
}

static int answer(struct vread_device *dev, const struct vread_terms *terms)
{
	struct vread_ivshmem_control *there = control(to_pci(dev));

	WRITE_ONCE(there->version, VREAD_PROTOCOL_VERSION);
	WRITE_ONCE(there->num_queues, terms->queues);
	WRITE_ONCE(there->ring_page_order, terms->ring_order);
	return 0;
}

static void free_device(struct vread_device *dev)
{
	kfree(to_pci(dev));
}

static const struct vread_attachment attachment = {
	.owner = THIS_MODULE,
	.params = &params,
	.share_ring = share_ring,
	.unshare_ring = unshare_ring,
	.bind = bind_irq,
	.unbind = unbind_irq,
	.notify = notify,
	.event_done = event_done,
	.read_offer = read_offer,
	.share_pool = share_pool,
	.answer = answer,
	.let_go = let_go,
	.backend_state = backend_state,
	.own_state = own_state,
	.set_state = set_state,
	.fail = fail,
	.free = free_device,
};

static irqreturn_t state_event(int irq, void *arg)
{
	struct pci_device *pci = arg;

	queue_work(system_long_wq, &pci->dev.work);
	return IRQ_HANDLED;
}

/* Tells the backend that a driver is there, which ends a connection of before a restart. */
static void announce(struct pci_device *pci)
{
	pci->epoch = VREAD_IVSHMEM_EPOCH(backend_word(pci));
	set_state(&pci->dev, XenbusStateInitialising);
	vread_connect_release(&pci->dev);
}

/* ---- probe and remove ---- */

/* Maps registers and memory.  After an error unmap() frees what there is. */
static int map(struct pci_device *pci)
{
	struct pci_dev *pdev = pci->pdev;
	resource_size_t bytes = pci_resource_len(pdev, BAR_MEMORY);

	/* A port for devices that are plugged may have no room for the memory. */
	if (!bytes || !pci_resource_len(pdev, BAR_REGISTERS)) {
		dev_err(&pdev->dev, "the guest has no address for the device's memory\n");
		return -ENOSPC;
	}
	pci->base = pci_resource_start(pdev, BAR_MEMORY);
	pci->memory_pages = min_t(resource_size_t, bytes / VREAD_PAGE_SIZE, U32_MAX);
	pci->registers = pci_iomap(pdev, BAR_REGISTERS, 0);
	pci->memory = memremap(pci->base, bytes, MEMREMAP_WB);
	if (!pci->registers || !pci->memory)
		return -ENOMEM;
	/* Others use such devices, too. */
	return READ_ONCE(control(pci)->magic) == VREAD_IVSHMEM_MAGIC ? 0 : -ENODEV;
}

static void unmap(struct pci_device *pci)
{
	if (pci->registers)
		pci_iounmap(pci->pdev, pci->registers);
	if (pci->memory)
		memunmap(pci->memory);
}

static int enable(struct pci_dev *pdev)
{
	int err = pci_enable_device(pdev);

	if (err)
		return err;
	err = pci_request_regions(pdev, KBUILD_MODNAME);
	if (err)
		pci_disable_device(pdev);
	else
		pci_set_master(pdev); /* interrupts by MSI-X are writes of the device */
	return err;
}

static void disable(struct pci_dev *pdev)
{
	pci_release_regions(pdev);
	pci_disable_device(pdev);
}

static int make_vectors(struct pci_device *pci)
{
	struct pci_dev *pdev = pci->pdev;
	char *name = pci->irq_name[VREAD_IVSHMEM_VECTOR_STATE];
	int ret;

	ret = pci_alloc_irq_vectors(pdev, 2, 1 + VREAD_MAX_QUEUES, PCI_IRQ_MSIX);
	if (ret < 0) {
		dev_err(&pdev->dev, "at least 2 MSI-X vectors are needed: error %d\n", ret);
		return ret;
	}
	pci->vectors = ret;
	snprintf(name, sizeof(pci->irq_name[0]), "%s-state", pci_name(pdev));
	ret = request_irq(pci_irq_vector(pdev, VREAD_IVSHMEM_VECTOR_STATE), state_event, 0, name,
			  pci);
	if (ret)
		pci_free_irq_vectors(pdev);
	return ret;
}

static void free_vectors(struct pci_device *pci)
{
	free_irq(pci_irq_vector(pci->pdev, VREAD_IVSHMEM_VECTOR_STATE), pci);
	pci_free_irq_vectors(pci->pdev);
}

/* Makes the node, and then the vectors, whose work needs the node's name. */
static int make_node(struct pci_device *pci)
{
	int err;

	pci->id = ida_alloc(&ids, GFP_KERNEL);
	if (pci->id < 0)
		return pci->id;
	err = vread_connect_add(&pci->dev, pci->id);
	if (!err)
		err = make_vectors(pci);
	if (err) {
		vread_connect_stop(&pci->dev);
		ida_free(&ids, pci->id);
	}
	return err;
}

static int set_up(struct pci_device *pci)
{
	int err = map(pci);

	if (!err)
		err = make_node(pci);
	if (err)
		unmap(pci);
	return err;
}

static int vread_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct pci_device *pci;
	int err;

	if (pdev->revision < IVSHMEM_REVISION)
		return -ENODEV;
	err = enable(pdev);
	if (err)
		return err;
	pci = kzalloc(sizeof(*pci), GFP_KERNEL);
	err = pci ? vread_device_init(&pci->dev, &attachment, &pdev->dev, vread_connect_work)
		  : -ENOMEM;
	if (err) {
		kfree(pci);
		disable(pdev);
		return err;
	}
	strscpy(pci->dev.host, "the host", sizeof(pci->dev.host));
	pci->pdev = pdev;
	err = set_up(pci);
	if (err) {
		vread_device_put(&pci->dev);
		disable(pdev);
		return err;
	}
	pci_set_drvdata(pdev, pci);
	announce(pci);
	return 0;
}

static void vread_remove(struct pci_dev *pdev)
{
	struct pci_device *pci = pci_get_drvdata(pdev);

	vread_connect_stop(&pci->dev);
	vread_connect_end(&pci->dev);
	free_vectors(pci);
	vread_chardev_move_pool(&pci->dev);
	unmap(pci);
	ida_free(&ids, pci->id);
	pci_set_drvdata(pdev, NULL);
	vread_device_put(&pci->dev);
	disable(pdev);
}

/* ---- suspend ---- */

/* The guest hears no event while it sleeps. */
static int vread_suspend(struct device *device)
{
	struct pci_device *pci = dev_get_drvdata(device);

	vread_connect_hold(&pci->dev);
	vread_connect_pause(&pci->dev);
	return 0;
}

/* The memory of the device is not in the image of a hibernated guest, and a process may not have
 * looked yet at bytes that it was told of. */
static int vread_freeze(struct device *device)
{
	struct pci_device *pci = dev_get_drvdata(device);

	if (!vread_device_is_open(&pci->dev))
		return vread_suspend(device);
	vread_err(&pci->dev, "no hibernation while a process has the device open");
	return -EBUSY;
}

static int vread_resume(struct device *device)
{
	announce(dev_get_drvdata(device));
	return 0;
}

static const struct dev_pm_ops pm_ops = {
	.suspend = vread_suspend,
	.resume = vread_resume,
	.freeze = vread_freeze,
	.thaw = vread_resume,
	.restore = vread_resume,
};

static const struct pci_device_id device_ids[] = {
	{PCI_DEVICE(IVSHMEM_VENDOR, IVSHMEM_DEVICE)},
	{},
};
MODULE_DEVICE_TABLE(pci, device_ids);

static struct pci_driver driver = {
	.name = "vread-ivshmem",
	.id_table = device_ids,
	.probe = vread_probe,
	.remove = vread_remove,
	.driver.pm = &pm_ops,
};

static int __init vread_ivshmem_init(void)
{
	int err = vread_params_check(&params);

	return err ? err : pci_register_driver(&driver);
}
module_init(vread_ivshmem_init);

static void __exit vread_ivshmem_exit(void)
{
	pci_unregister_driver(&driver);
}
module_exit(vread_ivshmem_exit);

MODULE_DESCRIPTION("Frontend of vRead in guests of KVM: HDFS blocks read through the host");
MODULE_LICENSE("GPL");
