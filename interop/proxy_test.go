package interop_test

// A reverse proxy in tasks in front of nginx: net/http's types for the requests,
// io.Copy for the bodies, and one connection to nginx for each client.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-go/rondo/interop/internal/peer"
	"github.com/rondo-go/rondo/socket"
)

// A proxy passes requests on to the server at address.
type proxy struct {
	address string
	passed  int
}

// serve serves one connection, with one connection to the server.
func (p *proxy) serve(ctx context.Context, c net.Conn) error {
	up, err := socket.Dial(ctx, "tcp", p.address)
	if err != nil {
		return err
	}
	defer up.Close()
	requests, answers := bufio.NewReader(c), bufio.NewReader(up)
	for {
		q, err := http.ReadRequest(requests)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if q.Header.Get("Expect") == "100-continue" {
			if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
				return err
			}
			q.Header.Del("Expect")
		}
		q.Header.Set("X-Forwarded-For", c.RemoteAddr().(*net.TCPAddr).IP.String())
		if err := q.Write(up); err != nil {
			return err
		}
		a, err := http.ReadResponse(answers, q)
		if err != nil {
			return err
		}
		a.Header.Set("Via", "1.1 rondo")
		p.passed++ // before the client has it all, and may look
		if err := a.Write(c); err != nil {
			return err
		}
		if q.Close || a.Close {
			return nil
		}
	}
}

// TestReverseProxy: curl fetches pages, large and missing ones, and posts to nginx
// through the proxy. Then 20 curls do so at once.
func TestReverseProxy(t *testing.T) {
	curl := peer.Need(t, "curl")
	dir := t.TempDir()
	large := strings.Repeat("large ", 1<<18)
	for name, text := range map[string]string{"small": "small\n", "large": large} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	address := peer.Nginx(t, dir, "root "+dir+"; client_max_body_size 8m; location = /who { return 200 $http_x_forwarded_for; } location = /post { return 201 $content_length; }")
	run(t, func(ctx context.Context) error {
		p := &proxy{address: address}
		return serving(t, ctx, p.serve, func(ctx context.Context, own string) error {
			url := "http://" + own
			for _, c := range []struct {
				args []string
				want string
			}{
				{[]string{url + "/small", url + "/who"}, "small\n127.0.0.1"},
				{[]string{url + "/large"}, large},
				{[]string{"-w", " %{http_code} %header{via}", "-o", os.DevNull, url + "/missing"}, " 404 1.1 rondo"},
				{[]string{"-w", " %{http_code}", "--data-binary", "@" + filepath.Join(dir, "large"), url + "/post"}, fmt.Sprintf("%d 201", len(large))},
				{[]string{"-I", "-w", "%{http_code}", "-o", os.DevNull, url + "/large"}, "200"},
			} {
				out, err := command(ctx, nil, curl, append([]string{"-sS"}, c.args...)...)
				if out != c.want || err != nil {
					t.Errorf("curl %q got %.100q, not %.100q: %v", c.args, out, c.want, err)
				}
			}
			before := p.passed
			err := all(ctx, 20, func(ctx context.Context, _ int) error {
				out, err := command(ctx, nil, curl, "-sS", url+"/large", url+"/small")
				if out != large+"small\n" {
					t.Errorf("curl got %d bytes", len(out))
				}
				return err
			})
			if n := p.passed - before; n != 40 {
				t.Errorf("the proxy passed %d requests on", n)
			}
			return err
		})
	})
}
