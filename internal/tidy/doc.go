// Package tidy has the rules that the source of Rondo keeps, as tests that read
// the source. A rule that no machine checks is forgotten in a month.
//
//	go test -v -run Rules ./internal/tidy
//
// lists the rules, and each place that breaks one. exceptions_test.go lists what a
// rule allows although it breaks the letter, with the reason. Each rule comes with
// samples that break it, so a rule that no longer finds anything fails as well.
//
//	go test ./internal/tidy -run API -update
//
// writes the exported names of each package to the folder api.
//
// The tests read the files themselves, those of every system and of every module
// of the repository. The go command would list only this system's. The test cache
// records which files a test opens, so it does not repeat a pass after an edit.
package tidy
