package tidy

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

var foreignRule = rule{
	name: "foreign",
	law: "A method of a value that the program made is called where its panic is the program's, or under a recover. " +
		"Each function that calls one, or a hook, is in the table of foreign_test.go, which says in whose frame.",
	check:    func(t *tree) []breach { return t.foreign(foreignCalls) },
	onSample: func(t *tree) []breach { return t.foreign(map[string]map[frame]string{"known.go": {ours: "gone"}}) },
	bad: []sample{
		{files{"a.go": "package rondo\nfunc f(err error) string { return err.Error() }\n"}, "call of err.Error in f"},
		{files{"a.go": "package rondo\nfunc f(v any) bool { e, ok := v.(interface{ Is(error) bool }); return ok && e.Is(nil) }\n"}, "call of e.Is in f"},
		{files{"a.go": "package rondo\nimport \"context\"\nfunc f(ctx context.Context) { _ = ctx.Err() }\n"}, "call of ctx.Err in f"},
		{files{"a.go": "package rondo\nimport \"errors\"\nfunc f(a, b error) bool { return errors.Is(a, b) }\n"}, "call of errors.Is in f"},
		{files{"a.go": "package rondo\nimport \"log/slog\"\nfunc f(err error) { slog.Error(\"x\", \"err\", err) }\n"}, "call of slog.Error in f"},
		{files{"a.go": "package rondo\ntype R struct{ OnError func() }\nfunc f(r *R) { r.OnError() }\n"}, "call of r.OnError in f"},
		{files{"known.go": "package rondo\nfunc g() {}\n"}, "unneeded row: gone"},
	},
	good: files{
		"a.go": "package rondo\ntype own struct{}\nfunc (own) Error() string { return \"\" }\nfunc f(e own) string { return e.Error() }\n" +
			"type hooks struct{ after func() }\nfunc g(h hooks) { h.after() }\n",
	},
}

// A frame says where a method of a value of the program's runs.
type frame string

const (
	// own: in the task, or on the goroutine, that called with the value, or of whose function it is
	// the result, before anything has changed. A panic is its own.
	own frame = "own"

	// guarded: under a recover, of the function or of its caller. A panic is reported, or means
	// that the answer is no.
	guarded frame = "guarded"

	// passed: a method of a value of Rondo's, which the program calls, asks the value within.
	passed frame = "passed"

	// ours: the value is of Rondo or of the standard library.
	ours frame = "ours"
)

// foreignDirs are the packages in which other tasks than that of a value may come to call its
// methods.
var foreignDirs = []string{
	".", "broadcast", "shard", "process", "signals", "slogtask", "sim", "socket", "httptask",
	"internal/errtree", "internal/report", "internal/stdctx", "internal/kernel", "internal/watchdog", "internal/waits", "internal/timeline", "internal/fd",
	"nats", "nats/embed", "nats/internal/rpc", "nats/internal/report", "nats/oteltask",
}

// foreignMethods are the methods of errors, contexts, names and cases, and foreignFunctions the
// functions of the standard library and of Rondo that call them. Package fmt is none of these: it
// recovers.
var (
	foreignMethods   = strings.Fields("Error Unwrap Is As String LogValue Err Done Deadline Value AfterFunc Try Begin End Timeout Temporary")
	foreignFunctions = strings.Fields(`errors.Is errors.As errors.AsType errors.Unwrap
		context.Cause context.WithCancel context.WithCancelCause context.WithDeadline context.WithDeadlineCause
		context.WithTimeout context.WithTimeoutCause context.AfterFunc
		errtree.Judge errtree.Contains errtree.Any errtree.Same
		slog.Debug slog.Info slog.Warn slog.Error slog.Log slog.LogAttrs
		slog.DebugContext slog.InfoContext slog.WarnContext slog.ErrorContext`)
)

// foreign compares the calls of the packages with a table.
func (t *tree) foreign(table map[string]map[frame]string) (found []breach) {
	needed := make(map[string]bool)
	var dirs []string
	for _, s := range t.source {
		if !s.test && slices.Contains(foreignDirs, s.dir) && !slices.Contains(dirs, s.dir) {
			dirs = append(dirs, s.dir)
		}
	}
	for _, p := range t.typed(dirs...) {
		for _, s := range p.files {
			listed := make(map[string]bool)
			for _, functions := range table[s.path] {
				for _, f := range strings.Fields(functions) {
					listed[f] = true
				}
			}
			s.functions(func(in string, d ast.Decl) {
				if in == "" {
					in = "-" // a variable of the package
				}
				ast.Inspect(d, func(n ast.Node) bool {
					c, ok := n.(*ast.CallExpr)
					if !ok || !callsForeign(c, p.info) {
						return true
					}
					if listed[in] {
						needed[s.path+" "+in] = true
						return true
					}
					found = append(found, breach{file: s.path, line: t.line(c.Pos()), in: in, what: "call of " + types.ExprString(c.Fun),
						hint: "call it in the frame of the program, or as errtree.Is, report.Log or report.Text; then add a row"})
					return true
				})
			})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(table)) {
		var unneeded []string
		for _, functions := range table[file] {
			for _, f := range strings.Fields(functions) {
				if !needed[file+" "+f] {
					unneeded = append(unneeded, f)
				}
			}
		}
		if len(unneeded) > 0 && t.text[file] != "" {
			found = append(found, breach{file: file, what: "unneeded row: " + strings.Join(unneeded, " ")})
		}
	}
	return found
}

// callsForeign reports whether c calls a method of an interface that values of the program may
// be, a function that calls such methods, or a hook: a function in an exported field.
func callsForeign(c *ast.CallExpr, info *types.Info) bool {
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if index, generic := ast.Unparen(c.Fun).(*ast.IndexExpr); generic { // errors.AsType[T]
		sel, ok = index.X.(*ast.SelectorExpr)
	}
	if !ok {
		return false
	}
	switch o := info.Uses[sel.Sel].(type) {
	case *types.Func:
		if recv := o.Type().(*types.Signature).Recv(); recv != nil {
			return types.IsInterface(recv.Type()) && slices.Contains(foreignMethods, o.Name())
		}
		return o.Pkg() != nil && slices.Contains(foreignFunctions, o.Pkg().Name()+"."+o.Name())
	case *types.Var:
		if _, function := o.Type().Underlying().(*types.Signature); !function || !o.IsField() || !o.Exported() {
			return false
		}
		dir, rondo := dirOf(o.Pkg().Path())
		return rondo && !strings.Contains(dir, "internal/")
	}
	return false
}

// foreignCalls has the functions that call methods of values of the program, or hooks. What a
// function calls of errtree is called in the function's frame.
var foreignCalls = map[string]map[frame]string{
	"border.go":       {ours: "mustBeInside"},
	"cond.go":         {own: "Wait"},
	"context.go":      {own: "scopeAround detached judge", passed: "Deadline Done Value"},
	"contextwatch.go": {own: "watchContext", guarded: "errOf causeOf"}, // but by watchContext: own
	"deadlock.go":     {ours: "nothingCanWake deadlock"},
	"errors.go":       {ours: "mustHaveLoop mustNotBeMisuse", guarded: "callOnError"},
	"future.go":       {own: "waitOutside"},
	"gather.go":       {own: "onlyCause"},
	"group.go":        {own: "TimedOut"},
	"join.go":         {own: "waitOutside"},
	"park.go":         {own: "enterWait"},
	"pull.go":         {ours: "callerOf"},
	"queue.go":        {ours: "All"},
	"run.go":          {own: "Run", passed: "Error"},
	"select.go":       {own: "try begin take end", ours: "AsCompleted"},
	"simulated.go":    {own: "watch"},
	"tracer.go":       {guarded: "call"},

	"broadcast/topic.go": {own: "Try Begin End", ours: "All"},
	"broadcast/watch.go": {ours: "All"},
	"shard/chan.go":      {ours: "All"},
	"shard/run.go":       {own: "Run", guarded: "echoes reportError"},
	"shard/serve.go":     {own: "Serve serve"},
	"signals/notify.go":  {own: "Notify end"},
	"signals/serve.go":   {own: "Received"},
	"sim/host.go":        {own: "Signal"},
	"sim/loop.go":        {ours: "abandoned"},

	// The Cancel of a child is called in the child's task, whose panic is that of Wait.
	"process/cancelled.go": {passed: "Error Is As"},
	"process/child.go":     {own: "callCancel"},
	"process/cmd.go":       {own: "Start wait"},
	"process/pipe.go":      {ours: "closedError"},

	"socket/conn.go":          {own: "File", ours: "wait"},
	"socket/dial.go":          {own: "DialContext dial dialPacket"},
	"socket/dial_raw.go":      {own: "prepare", ours: "connect"},
	"socket/draining.go":      {ours: "drain"},
	"socket/listen.go":        {own: "Listen"},
	"socket/loop.go":          {own: "errand"},
	"socket/network.go":       {own: "listenVirtual"},
	"socket/packet_listen.go": {own: "ListenPacket"},
	"socket/packet.go":        {ours: "File"},
	"socket/protocol.go":      {own: "Attach", guarded: "report", ours: "accept"},
	"socket/resolve.go":       {own: "local", ours: "race trySerial share"},
	"socket/failure.go":       {guarded: "hasPanic"},
	"socket/served.go":        {own: "taskName", guarded: "cutOff"},
	"socket/server.go":        {guarded: "start report", ours: "accept"},
	"socket/session.go":       {guarded: "step", ours: "serve"},
	"socket/sockaddr_raw.go":  {ours: "String"},
	"socket/socketfile.go":    {ours: "bind refused"},
	"socket/spread.go":        {ours: "distribute"},
	"socket/stats.go":         {own: "publish"},
	"socket/tls.go":           {own: "takeHandshake", ours: "enter"},
	"socket/tls_watch.go":     {ours: "watchInput"},
	"socket/transport.go":     {guarded: "only callPause", ours: "read name"},

	// net/http asks the contexts of a request on goroutines of its own as well: one that panics
	// there is no concern of the loop.
	"httptask/connection.go":   {own: "start answer followBase", guarded: "followBase"},
	"httptask/context.go":      {passed: "Deadline Value", ours: "-"},
	"httptask/exchange.go":     {own: "serve cancel", ours: "start"},
	"httptask/handler.go":      {own: "ServeHTTP", guarded: "complain onlyAborts onlyCancelled"},
	"httptask/own.go":          {own: "serveOwn shutdownOwn"},
	"httptask/replycontext.go": {passed: "Deadline Value"},
	"httptask/request.go":      {ours: "refuse notRead"},
	"httptask/session.go":      {own: "Session", guarded: "onlyTimeOver"},
	"httptask/spread.go":       {own: "serveBeside"},
	"httptask/server.go":       {own: "Shutdown run shutdown quiesce", ours: "drain beginQuiet"},
	"httptask/service.go":      {own: "dispatch"},
	"httptask/transport.go":    {own: "RoundTrip", ours: "away"},
	"httptask/upload.go":       {own: "inTask"},
	"httptask/writer.go":       {own: "complain"},

	// errtree and stdctx: own, in the frame of those who call them.
	"internal/errtree/errtree.go":  {own: "Same parts unwrap", ours: "Joined"},
	"internal/stdctx/state.go":     {own: "Decider", passed: "Value valueOf", ours: "-"},
	"internal/stdctx/after.go":     {ours: "AfterDone"},
	"internal/stdctx/std.go":       {own: "newStd"},
	"internal/stdctx/deadline.go":  {ours: "Error"},
	"internal/fd/ready_raw.go":     {own: "Watch"},
	"internal/fd/splice_linux.go":  {ours: "NotSupported"},
	"internal/fd/sys_raw.go":       {ours: "armAgain"},
	"internal/kernel/callerror.go": {ours: "Wrap Misuse"},
	"internal/report/report.go":    {guarded: "Log"},

	"nats/call.go":                   {own: "Call call"},
	"nats/health.go":                 {own: "look", ours: "health"},
	"nats/meter.go":                  {own: "label"},
	"nats/middleware.go":             {own: "HeaderOf JobOf"},
	"nats/conn.go":                   {own: "notConnected", guarded: "answers", ours: "watch closedBy"},
	"nats/handle.go":                 {own: "mustBeOutside", ours: "handleOne"},
	"nats/deadletter.go":             {guarded: "says asPanic", ours: "returned bury"},
	"nats/worker.go":                 {guarded: "delay", ours: "fetch"},
	"nats/embed/embed.go":            {guarded: "log", ours: "start"},
	"nats/embed/store_unix.go":       {ours: "lock"},
	"nats/internal/report/report.go": {guarded: "Log"},
	"nats/oteltask/oteltask.go":      {own: "within"},
	"nats/internal/rpc/call.go":      {own: "Call"},
}
