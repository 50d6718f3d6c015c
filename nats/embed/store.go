package embed

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// claimStore makes the folder in which a server with these options stores its streams, and
// claims it for that server, until unclaim is called or the process ends. Two servers that
// write to one folder would damage what is there, and the server does not notice.
func claimStore(o *server.Options) (unclaim func(), err error) {
	if !o.JetStream {
		return func() {}, nil
	}
	dir := storeOf(o)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("its store: %w", err)
	}
	return lock(dir)
}

// storeOf returns the folder that the server chooses.
func storeOf(o *server.Options) string {
	switch {
	case o.StoreDir != "":
		return filepath.Join(o.StoreDir, server.JetStreamStoreDir)
	case o.JetStreamMaxMemory <= 0 || o.JetStreamMaxStore <= 0:
		return filepath.Join(os.TempDir(), "nats", server.JetStreamStoreDir)
	}
	return filepath.Join(os.TempDir(), server.JetStreamStoreDir)
}
