package timeline

// Still calls fn while nothing is being written to the file.
func (l *Loop) Still(fn func()) {
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	fn()
}
