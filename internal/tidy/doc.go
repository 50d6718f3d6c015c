// Package tidy has the rules that the source of Rondo keeps, as tests that read
// the source. A rule that no machine checks is kept for a month.
//
//	go test -v -run Rules ./internal/tidy
//
// lists the rules, and each place that breaks one. What a rule lets pass although
// it breaks the letter stands in the table in exceptions_test.go, with the reason.
// Each rule comes with samples that break it, so a rule that has stopped seeing
// anything fails as well.
//
// The tests open the files themselves, those of every system and of every module
// of the repository. The go command would show only this system's, and the test
// cache, which knows what a test opens, would keep a pass beyond the next edit.
package tidy
