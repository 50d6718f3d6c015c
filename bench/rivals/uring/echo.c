/*
 * An echo server on one thread that calls io_uring directly, without a library:
 * one request accepts all connections, one request for each connection receives all
 * that arrives there, into buffers that the kernel picks from a ring. What is to be
 * sent is submitted together with the next wait.
 *
 * The argument is the size of a buffer in bytes. It prints its address, and ends
 * when its standard input ends. It needs Linux 6.1 or later, and ends with an error
 * that names the missing call where it does not have it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 4096, BUFFERS = 1024 }; /* both powers of two */

enum kind { ACCEPT, RECEIVE, SEND, INPUT, CLOSE };

/* What a completion belongs to, in the 64 bits of its user_data. */
struct about {
	uint8_t kind;
	uint16_t buffer;
	int fd;
};

static struct {
	int fd;
	unsigned *head, *tail, *mask; /* of the submission queue */
	unsigned *done_head, *done_tail, *done_mask;
	struct io_uring_sqe *entries;
	struct io_uring_cqe *done;
	unsigned unsubmitted;
} ring;

static struct {
	struct io_uring_buf_ring *ring;
	char *bytes;
	size_t size;
	unsigned short tail;
} buffers;

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void *map(size_t size, off_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, offset);

	check(p != MAP_FAILED, "mmap of the ring");
	return p;
}

static void open_ring(void)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
		.cq_entries = 8 * ENTRIES,
	};
	char *queues;
	unsigned *array;
	size_t size;

	ring.fd = syscall(SYS_io_uring_setup, ENTRIES, &p);
	check(ring.fd >= 0, "io_uring_setup");
	size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	if (size < p.sq_off.array + p.sq_entries * sizeof *array)
		size = p.sq_off.array + p.sq_entries * sizeof *array;
	queues = map(size, IORING_OFF_SQ_RING);
	ring.entries = map(p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring.head = (unsigned *)(queues + p.sq_off.head);
	ring.tail = (unsigned *)(queues + p.sq_off.tail);
	ring.mask = (unsigned *)(queues + p.sq_off.ring_mask);
	ring.done_head = (unsigned *)(queues + p.cq_off.head);
	ring.done_tail = (unsigned *)(queues + p.cq_off.tail);
	ring.done_mask = (unsigned *)(queues + p.cq_off.ring_mask);
	ring.done = (struct io_uring_cqe *)(queues + p.cq_off.cqes);
	array = (unsigned *)(queues + p.sq_off.array);
	for (unsigned i = 0; i < p.sq_entries; i++)
		array[i] = i;
}

/* enter submits what is prepared, and waits for some completions. */
static void enter(unsigned wanted)
{
	int n = syscall(SYS_io_uring_enter, ring.fd, ring.unsubmitted, wanted, IORING_ENTER_GETEVENTS, NULL, 0);

	check(n >= 0 || errno == EINTR || errno == EBUSY, "io_uring_enter");
	if (n > 0)
		ring.unsubmitted -= n;
}

/* prepare returns an empty entry of the submission queue, which is submitted with
 * the next call of enter. */
static struct io_uring_sqe *prepare(enum kind kind, int op, int fd, uint16_t buffer)
{
	struct io_uring_sqe *e;
	union {
		struct about about;
		uint64_t word;
	} u = {.about = {.kind = kind, .buffer = buffer, .fd = fd}};

	while (*ring.tail - __atomic_load_n(ring.head, __ATOMIC_ACQUIRE) == ENTRIES)
		enter(0);
	e = &ring.entries[*ring.tail & *ring.mask];
	*e = (struct io_uring_sqe){.opcode = op, .fd = fd, .user_data = u.word};
	__atomic_store_n(ring.tail, *ring.tail + 1, __ATOMIC_RELEASE);
	ring.unsubmitted++;
	return e;
}

static void give_back(uint16_t id)
{
	struct io_uring_buf *b = &buffers.ring->bufs[buffers.tail & (BUFFERS - 1)];

	b->addr = (uintptr_t)(buffers.bytes + id * buffers.size);
	b->len = buffers.size;
	b->bid = id;
	__atomic_store_n(&buffers.ring->tail, ++buffers.tail, __ATOMIC_RELEASE);
}

static void register_buffers(size_t size)
{
	struct io_uring_buf_reg reg = {.ring_entries = BUFFERS};

	buffers.size = size;
	buffers.bytes = malloc(BUFFERS * size);
	buffers.ring = mmap(NULL, BUFFERS * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(buffers.bytes != NULL && buffers.ring != MAP_FAILED, "memory for buffers");
	reg.ring_addr = (uintptr_t)buffers.ring;
	check(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PBUF_RING, &reg, 1) == 0,
	      "io_uring_register of a ring of buffers");
	for (unsigned i = 0; i < BUFFERS; i++)
		give_back(i);
}

static void accept_on(int listener)
{
	prepare(ACCEPT, IORING_OP_ACCEPT, listener, 0)->ioprio = IORING_ACCEPT_MULTISHOT;
}

static void receive(int fd)
{
	struct io_uring_sqe *e = prepare(RECEIVE, IORING_OP_RECV, fd, 0);

	e->ioprio = IORING_RECV_MULTISHOT;
	e->flags = IOSQE_BUFFER_SELECT;
}

static void watch_input(void)
{
	prepare(INPUT, IORING_OP_POLL_ADD, 0, 0)->poll32_events = POLLIN;
}

static void send_back(int fd, uint16_t buffer, unsigned n)
{
	struct io_uring_sqe *e = prepare(SEND, IORING_OP_SEND, fd, buffer);

	e->addr = (uintptr_t)(buffers.bytes + buffer * buffers.size);
	e->len = n;
	e->msg_flags = MSG_WAITALL;
}

static void received(struct io_uring_cqe *c, int fd)
{
	if (c->res > 0)
		send_back(fd, c->flags >> IORING_CQE_BUFFER_SHIFT, c->res);
	else if (c->res != -ENOBUFS) { /* the client ended the connection, or reset it */
		prepare(CLOSE, IORING_OP_CLOSE, fd, 0);
		return;
	}
	if (!(c->flags & IORING_CQE_F_MORE))
		receive(fd);
}

static void accepted(struct io_uring_cqe *c, int listener)
{
	int on = 1;

	if (c->res >= 0) {
		setsockopt(c->res, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		receive(c->res);
	}
	if (!(c->flags & IORING_CQE_F_MORE))
		accept_on(listener);
}

static void completed(struct io_uring_cqe *c)
{
	union {
		uint64_t word;
		struct about about;
	} u = {.word = c->user_data};
	char line[64];

	switch (u.about.kind) {
	case ACCEPT:
		accepted(c, u.about.fd);
		break;
	case RECEIVE:
		received(c, u.about.fd);
		break;
	case SEND: /* if it failed, the receiving request ends too */
		give_back(u.about.buffer);
		break;
	case INPUT:
		if (read(0, line, sizeof line) <= 0)
			exit(0);
		watch_input();
		break;
	}
}

static int listen_here(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(fd >= 0, "socket");
	check(bind(fd, (struct sockaddr *)&a, sizeof a) == 0, "bind");
	check(listen(fd, 4096) == 0, "listen");
	check(getsockname(fd, (struct sockaddr *)&a, &size) == 0, "getsockname");
	printf("127.0.0.1:%d\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	struct rlimit files;

	check(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	files.rlim_cur = files.rlim_max;
	check(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");
	open_ring();
	register_buffers(argc > 1 ? strtoul(argv[1], NULL, 10) : 4096);
	accept_on(listen_here());
	watch_input();
	for (;;) {
		unsigned head = *ring.done_head;

		enter(1);
		for (unsigned tail = __atomic_load_n(ring.done_tail, __ATOMIC_ACQUIRE); head != tail; head++)
			completed(&ring.done[head & *ring.done_mask]);
		__atomic_store_n(ring.done_head, head, __ATOMIC_RELEASE);
	}
}
