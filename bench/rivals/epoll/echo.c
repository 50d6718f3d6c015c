/*
 * An echo server on one thread that calls epoll directly: the least work that a
 * server on Linux can do with epoll.
 *
 * The argument is the size of the buffer in bytes. It prints its address, and ends
 * when its standard input ends. Its clients wait for answers before they send more
 * than a socket's buffer holds. A write that does not fit is therefore an error of
 * the client, and ends the program.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void watch(int epoll, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0, "epoll_ctl");
}

static int listen_here(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	check(fd >= 0, "socket");
	check(bind(fd, (struct sockaddr *)&a, sizeof a) == 0, "bind");
	check(listen(fd, 4096) == 0, "listen");
	check(getsockname(fd, (struct sockaddr *)&a, &size) == 0, "getsockname");
	printf("127.0.0.1:%d\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

static void accept_all(int epoll, int listener)
{
	int fd, on = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		watch(epoll, fd);
	}
	check(errno == EAGAIN || errno == ECONNABORTED, "accept");
}

static void echo(int fd, char *buffer, size_t size)
{
	ssize_t n = read(fd, buffer, size);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) /* the client ended the connection, or reset it */
		close(fd);
	else
		check(write(fd, buffer, n) == n, "write");
}

static void end_with_input(void)
{
	char line[64];

	if (read(0, line, sizeof line) <= 0)
		exit(0);
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
	char *buffer = malloc(size);
	struct rlimit files;
	struct epoll_event events[256];
	int epoll = epoll_create1(0), listener;

	check(buffer != NULL, "malloc");
	check(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	files.rlim_cur = files.rlim_max;
	check(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");
	listener = listen_here();
	watch(epoll, listener);
	watch(epoll, 0);
	for (;;) {
		int n = epoll_wait(epoll, events, 256, -1);

		check(n >= 0 || errno == EINTR, "epoll_wait");
		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;

			if (fd == 0)
				end_with_input();
			else if (fd == listener)
				accept_all(epoll, listener);
			else
				echo(fd, buffer, size);
		}
	}
}
