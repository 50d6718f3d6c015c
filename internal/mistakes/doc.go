// Package mistakes holds programs with mistakes of the kinds that concurrent and
// distributed programs have, and beside each the same program without its mistake. Its
// tests have package sim find each mistake within a number of seeds and shrink it to a
// few choices, and pass the programs that are right. It uses only what Rondo exports.
package mistakes
