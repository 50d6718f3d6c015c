// Package containment has the matrix of failures: each place at which a function of the
// program's runs, and each way in which it can fail. It has tests only.
package containment
