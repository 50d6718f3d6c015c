package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// The functions of other packages that block a goroutine, and so the loop
// if a task calls them.

// cures says what to use in place of a function that blocks.
var cures = map[string]string{
	"time.Sleep":                                   "rondo.Sleep",
	"sync.WaitGroup.Wait":                          "rondo.Group, which waits for its tasks, or rondo.OffloadFunc",
	"sync.Cond.Wait":                               "rondo.Cond",
	"golang.org/x/sync/errgroup.Group.Wait":        "rondo.Group, or rondo.OffloadFunc",
	"golang.org/x/sync/semaphore.Weighted.Acquire": "rondo.Semaphore",
	"golang.org/x/time/rate.Limiter.Wait":          "its Reserve, and rondo.Sleep for the Delay",
	"golang.org/x/time/rate.Limiter.WaitN":         "its ReserveN, and rondo.Sleep for the Delay",
	"os.Process.Wait":                              "package process, or rondo.Offload",
	"net.Dial":                                     "socket.Dial",
	"net.DialTimeout":                              "socket.Dial in a rondo.Timeout",
	"net.Dialer.Dial":                              "socket.Dialer",
	"net.Dialer.DialContext":                       "socket.Dialer",
	"crypto/tls.Dial":                              "socket.DialTLS",
	"crypto/tls.DialWithDialer":                    "socket.DialTLS",
	"net/http.ListenAndServe":                      "httptask.Server",
	"net/http.ListenAndServeTLS":                   "httptask.Server",
	"net/http.Serve":                               "httptask.Serve",
	"net/http.ServeTLS":                            "httptask.Server",
	"net/http.Server.ListenAndServe":               "httptask.Server",
	"net/http.Server.ListenAndServeTLS":            "httptask.Server",
	"net/http.Server.Serve":                        "httptask.Server",
	"net/http.Server.ServeTLS":                     "httptask.Server",
	"net/http.Get":                                 "httptask.Client",
	"net/http.Head":                                "httptask.Client",
	"net/http.Post":                                "httptask.Client",
	"net/http.PostForm":                            "httptask.Client",
}

// blockers are methods and functions of a package that block, by the type, or "" for
// functions, and what to use in their place.
var blockers = []struct {
	path, typ string
	names     []string
	cure      string
}{
	{"os/exec", "Cmd", []string{"Run", "Wait", "Output", "CombinedOutput"}, "process.Command"},
	{"fmt", "", []string{"Scan", "Scanf", "Scanln"}, "rondo.Offload"},
	{"net", "", []string{"LookupAddr", "LookupCNAME", "LookupHost", "LookupIP", "LookupMX", "LookupNS", "LookupPort", "LookupSRV",
		"LookupTXT", "ResolveIPAddr", "ResolveTCPAddr", "ResolveUDPAddr"}, "rondo.Offload"},
	{"net", "Resolver", []string{"LookupAddr", "LookupCNAME", "LookupHost", "LookupIP", "LookupIPAddr", "LookupMX", "LookupNS",
		"LookupNetIP", "LookupPort", "LookupSRV", "LookupTXT"}, "rondo.Offload"},
	{"net", "TCPListener", []string{"Accept", "AcceptTCP"}, "socket.Listen"},
	{"net", "UnixListener", []string{"Accept", "AcceptUnix"}, "socket.Listen"},
	{"net", "TCPConn", []string{"Read", "Write", "ReadFrom", "WriteTo"}, "socket.Dial or socket.Listen"},
	{"net", "UnixConn", []string{"Read", "Write", "ReadFrom", "WriteTo", "ReadMsgUnix"}, "socket.Dial or socket.Listen"},
	{"net", "UDPConn", []string{"Read", "ReadFrom", "ReadFromUDP", "ReadFromUDPAddrPort", "ReadMsgUDP"}, "socket.ListenPacket"},
	{"database/sql", "DB", []string{"Query", "QueryContext", "QueryRow", "QueryRowContext", "Exec", "ExecContext", "Prepare",
		"PrepareContext", "Begin", "BeginTx", "Ping", "PingContext", "Conn"}, "rondo.Offload"},
	{"database/sql", "Conn", []string{"QueryContext", "QueryRowContext", "ExecContext", "PrepareContext", "BeginTx", "PingContext"}, "rondo.Offload"},
	{"database/sql", "Tx", []string{"Query", "QueryContext", "QueryRow", "QueryRowContext", "Exec", "ExecContext", "Prepare",
		"PrepareContext", "Commit", "Rollback"}, "rondo.Offload"},
	{"database/sql", "Stmt", []string{"Query", "QueryContext", "QueryRow", "QueryRowContext", "Exec", "ExecContext"}, "rondo.Offload"},
	{"database/sql", "Rows", []string{"Next"}, "rondo.Offload"},
	{"database/sql", "Row", []string{"Scan"}, "rondo.Offload"},
	{natsClient, "Conn", []string{"Publish", "PublishMsg", "PublishRequest", "Request", "RequestMsg", "RequestWithContext", "RequestMsgWithContext",
		"Flush", "FlushTimeout", "FlushWithContext", "Drain"}, "the Conn of package rondo/nats, or rondo.Offload"},
	{natsClient, "Msg", []string{"Respond", "RespondMsg", "Ack", "AckSync", "Nak", "Term", "InProgress"}, "the Conn of package rondo/nats, or rondo.Offload"},
	{natsClient + "/jetstream", "Msg", []string{"Ack", "DoubleAck", "Nak", "NakWithDelay", "Term", "TermWithReason", "InProgress"},
		"nats.Work, which acknowledges a job that returns nil, or rondo.Offload"},
	{natsClient + "/jetstream", "Publisher", []string{"Publish", "PublishMsg"}, "nats.Enqueue, or rondo.Offload"},
	{natsClient + "/jetstream", "StreamManager", []string{"CreateStream", "UpdateStream", "CreateOrUpdateStream", "Stream", "DeleteStream"}, "rondo.Offload"},
	{natsClient + "/jetstream", "StreamConsumerManager", []string{"CreateConsumer", "UpdateConsumer", "CreateOrUpdateConsumer", "Consumer", "DeleteConsumer"}, "rondo.Offload"},
}

// natsClient is the path of the client of NATS, which writes to its socket under its lock.
const natsClient = "github.com/nats-io/nats.go"

// cureFor returns what to use in place of a function that blocks, or "" if it does not.
func cureFor(fn *types.Func) string {
	if fn.Pkg() == nil {
		return ""
	}
	if cure := cures[idOf(fn)]; cure != "" {
		return cure
	}
	typ := ""
	if recv := fn.Signature().Recv(); recv != nil {
		if named := namedOf(recv.Type()); named != nil {
			typ = named.Obj().Name()
		}
	}
	for _, b := range blockers {
		if b.path == fn.Pkg().Path() && b.typ == typ && slices.Contains(b.names, fn.Name()) {
			return b.cure
		}
	}
	return ""
}

// readsInput reports whether a call reads os.Stdin, directly or through a package bufio reader of
// it. A person who types may take an hour.
func (p *program) readsInput(call *ast.CallExpr, fn *types.Func) bool {
	input := func(e ast.Expr) bool {
		v := p.variable(p.valueOf(e))
		return v != nil && v.Pkg() != nil && v.Pkg().Path() == "os" && v.Name() == "Stdin"
	}
	switch id := idOf(fn); id {
	case "io.ReadAll", "fmt.Fscan", "fmt.Fscanf", "fmt.Fscanln":
		return input(call.Args[0])
	case "io.Copy":
		return len(call.Args) == 2 && input(call.Args[1]) // else it is a call with two results
	case "os.File.Read", "bufio.Scanner.Scan", "bufio.Reader.Read", "bufio.Reader.ReadString", "bufio.Reader.ReadBytes", "bufio.Reader.ReadLine",
		"bufio.Reader.ReadByte", "bufio.Reader.ReadRune", "bufio.Reader.ReadSlice", "bufio.Reader.Peek":
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok || id == "os.File.Read" {
			return ok && input(sel.X)
		}
		maker, ok := p.valueOf(sel.X).(*ast.CallExpr)
		if !ok {
			return false
		}
		made := calleeOf(p.info, maker)
		return made != nil && slices.Contains([]string{"bufio.NewScanner", "bufio.NewReader", "bufio.NewReaderSize"}, idOf(made)) && input(maker.Args[0])
	}
	return false
}

// clientBlocks reports whether a call is one of a method of *http.Client that certainly
// does a request without package httptask: of http.DefaultClient, or of a client that is
// made in this package without a Transport.
func (p *program) clientBlocks(call *ast.CallExpr, fn *types.Func) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Do", "Get", "Head", "Post", "PostForm"}, fn.Name()) || !strings.HasPrefix(idOf(fn), "net/http.Client.") {
		return false
	}
	value := p.valueOf(sel.X)
	if s, ok := value.(*ast.SelectorExpr); ok {
		v, ok := p.info.Uses[s.Sel].(*types.Var)
		return ok && v.Pkg() != nil && v.Pkg().Path() == "net/http" && v.Name() == "DefaultClient"
	}
	if u, ok := value.(*ast.UnaryExpr); ok {
		value = ast.Unparen(u.X)
	}
	lit, ok := value.(*ast.CompositeLit)
	if !ok {
		return false
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Transport" {
			return false
		}
	}
	// A field that is set later could be the Transport.
	if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
		return !p.fieldSet(p.objectOf(id), "Transport")
	}
	return true
}

// fieldSet reports whether the package sets a field of a variable.
func (p *program) fieldSet(v types.Object, field string) bool {
	for n := range p.parents {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != field {
			continue
		}
		if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok && p.objectOf(id) == v {
			return true
		}
	}
	return false
}

// listenerOf reports whether a value comes from net.Listen or its like, possibly in a
// struct that wraps it: to accept from it blocks.
func (p *program) listenerOf(e ast.Expr) bool {
	call, ok := p.valueOf(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := calleeOf(p.info, call)
	if fn == nil {
		return false
	}
	return slices.Contains([]string{"net.Listen", "net.ListenTCP", "net.ListenUnix", "crypto/tls.Listen"}, idOf(fn))
}

// wrapsListener reports whether e is a struct literal that wraps such a listener.
func (p *program) wrapsListener(e ast.Expr) bool {
	value := p.valueOf(e)
	if u, ok := value.(*ast.UnaryExpr); ok {
		value = ast.Unparen(u.X)
	}
	lit, ok := value.(*ast.CompositeLit)
	if !ok {
		return false
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if p.listenerOf(e) {
			return true
		}
	}
	return false
}
