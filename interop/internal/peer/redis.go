package peer

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
)

// Redis starts a server that saves nothing, and returns its Unix socket.
func Redis(t testing.TB) (path string) {
	t.Helper()
	dir := folder(t)
	path = filepath.Join(dir, "redis")
	cmd := exec.Command(Need(t, "redis-server"), "--port", "0", "--unixsocket", path,
		"--dir", dir, "--save", "", "--appendonly", "no")
	Start(t, cmd).Await(t, func() error {
		c, err := net.Dial("unix", path)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, "PING\r\n"); err != nil {
			return err
		}
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "+PONG\r\n" {
			return fmt.Errorf("the answer to PING is %q: %w", line, err)
		}
		return nil
	})
	return path
}
