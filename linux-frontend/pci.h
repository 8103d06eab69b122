/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pci.h - the driver of devices of KVM and QEMU, which are PCI devices (ivshmem-doorbell).  main.c
 * registers the driver when the module is loaded.
 */
#ifndef VREAD_PCI_H
#define VREAD_PCI_H

/* A kernel without PCI has no such devices, and pci.c is not compiled for it. */
#ifdef CONFIG_PCI
/* 0 or negative errno. */
int vread_pci_register(void);
void vread_pci_unregister(void);
#else
static inline int vread_pci_register(void)
{
	return 0;
}

static inline void vread_pci_unregister(void)
{
}
#endif

#endif
