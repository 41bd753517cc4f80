// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The standard input of the kernel's own process, for programs of a guest: the device quell_input.
 *
 * Reading it stops the whole guest, and with it the guest's time, until the host has as many bytes as were asked for, or no more. So how the
 * bytes arrive on the host has no influence on what a guest does, and nothing is read that no program asks for. It is ready at any time.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <os.h>

/* Descriptor of the host. */
#define STANDARD_INPUT 0
/* Bytes of one read on the host. */
#define PART 16384

static ssize_t quell_input_read(struct file *file, char __user *to, size_t count, loff_t *position)
{
	char *part = kmalloc(PART, GFP_KERNEL);
	size_t done = 0;
	int got = 0;

	if (!part)
		return -ENOMEM;
	while (done < count) {
		got = os_read_file(STANDARD_INPUT, part, min_t(size_t, count - done, PART));
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		if (copy_to_user(to + done, part, got)) {
			got = -EFAULT;
			break;
		}
		done += got;
	}
	kfree(part);
	return done ? done : got;
}

static __poll_t quell_input_poll(struct file *file, struct poll_table_struct *table)
{
	return EPOLLIN | EPOLLRDNORM;
}

static int quell_input_open(struct inode *inode, struct file *file)
{
	return stream_open(inode, file);
}

static const struct file_operations quell_input_operations = {
	.owner = THIS_MODULE,
	.open = quell_input_open,
	.read = quell_input_read,
	.poll = quell_input_poll,
};

static struct miscdevice quell_input = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "quell_input",
	.fops = &quell_input_operations,
};

static int __init quell_input_start(void)
{
	return misc_register(&quell_input);
}
device_initcall(quell_input_start);
