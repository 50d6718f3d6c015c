package peer

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Nginx starts a server with the text within its server block, and gives its
// address. The text may name files of dir, which is the working directory too.
// The port is bound before nginx runs and handed down to it, as one nginx does
// to the next when it is upgraded.
func Nginx(t testing.TB, dir, server string) (address string) {
	t.Helper()
	program := Need(t, "nginx")
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	address = l.Addr().String()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(configuration, address, server)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-p", dir, "-c", config, "-e", "stderr")
	cmd.ExtraFiles = []*os.File{file}
	cmd.Env = append(os.Environ(), "NGINX=3;")
	p := Start(t, cmd)
	// It listens already. It has read its configuration when it answers.
	p.Await(t, func() error {
		select {
		case <-p.ended:
			return fmt.Errorf("it has ended")
		default:
		}
		_, err := os.Stat(filepath.Join(dir, "nginx.pid"))
		return err
	})
	return address
}

// configuration is all of nginx that a test needs: one process in the
// foreground.
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
		listen %s;
		%s
	}
}
`
