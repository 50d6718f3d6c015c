package peer

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Nginx starts a server with the text in its server block, and returns its address.
// The text may name files in dir, which is also the working directory; listen has
// options of the listen directive.
func Nginx(t testing.TB, dir, server string, listen ...string) (address string) {
	t.Helper()
	program := Need(t, "nginx")
	address = reserve(t)
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(configuration, address, strings.Join(listen, " "), server)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	Start(t, exec.Command(program, "-p", dir, "-c", config, "-e", "stderr")).Await(t, func() error {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
	return address
}

// configuration is a complete nginx.conf: one process in the foreground.
const configuration = `daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	server {
		listen %s reuseport %s;
		%s
	}
}
`
