//go:build !go1.27

package httptask

import "net/http"

// maxValues is how many values the header of a request may have: Go 1.26 has no such limit.
func maxValues(*http.Server) int { return 0 }
