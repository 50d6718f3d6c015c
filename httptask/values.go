//go:build go1.27

package httptask

import "net/http"

// maxValues is how many values the header of a request may have.
func maxValues(s *http.Server) int {
	if s.MaxHeaderValueCount > 0 {
		return s.MaxHeaderValueCount
	}
	return http.DefaultMaxHeaderValueCount
}
