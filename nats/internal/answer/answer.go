// Package answer says how long a worker tries to tell the server how a job has ended.
package answer

import "time"

// Wait is the longest time for one answer, with the letter or the count that goes before it. The
// tests, also those of other modules, raise it before they begin: a slow machine may need longer.
var Wait = 2 * time.Second
