package poll_test

import "runtime"

// mayReturnEarly says that a signal can end a Poll of this system's backend
// before its instant, which the contract allows.
const mayReturnEarly = runtime.GOOS == "darwin" || runtime.GOOS == "freebsd" || runtime.GOOS == "dragonfly"
