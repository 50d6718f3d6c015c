package goinspect

import (
	"debug/dwarf"
	"debug/elf"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A dwarfData is what a program says of its own types and constants in its DWARF
// data: where the fields of structures stand and how large these are, and the
// values of constants, by names such as "runtime.g.sched".
type dwarfData struct {
	t       *testing.T
	version string // of Go
	offsets map[string]int64
	sizes   map[string]int64
	values  map[string]int64
}

// toolchains are the toolchains whose programs are read: those that
// RONDO_TOOLCHAINS lists, such as "go1.26.8 go1.27.4", or else the one in use.
func toolchains() []string {
	if list := strings.Fields(os.Getenv("RONDO_TOOLCHAINS")); len(list) > 0 {
		return list
	}
	return []string{runtime.Version()}
}

// tool makes a command of a toolchain.
func tool(toolchain string, args ...string) *exec.Cmd {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if toolchain != runtime.Version() {
		c.Env = append(c.Env, "GOTOOLCHAIN="+toolchain)
	}
	return c
}

// readDwarf builds an empty program for linux with the processor and reads its
// DWARF data.
func readDwarf(t *testing.T, toolchain, arch string) dwarfData {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	build := tool(toolchain, "build", "-o", path, source)
	build.Env = append(build.Env, "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := file.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	d := dwarfData{t, toolchain, make(map[string]int64), make(map[string]int64), make(map[string]int64)}
	structure := ""
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return d
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		switch e.Tag {
		case dwarf.TagStructType:
			structure = name
			d.sizes[name], _ = e.Val(dwarf.AttrByteSize).(int64)
		case dwarf.TagMember:
			d.offsets[structure+"."+name], _ = e.Val(dwarf.AttrDataMemberLoc).(int64)
		case dwarf.TagConstant:
			d.values[name], _ = e.Val(dwarf.AttrConstValue).(int64)
		}
	}
}

// at returns where a field stands in a structure.
func (d dwarfData) at(structure, field string) int {
	d.t.Helper()
	at, ok := d.offsets[structure+"."+field]
	if !ok {
		d.t.Errorf("%s has no field %s any more", structure, field)
	}
	return int(at)
}

// same compares what this package believes with what the toolchain says.
func (d dwarfData) same(what string, ours, theirs int) {
	d.t.Helper()
	if ours != theirs {
		d.t.Errorf("%s: this package has %d, %s has %d", what, ours, d.version, theirs)
	}
}

// value compares a number of ours with a constant of the toolchain.
func (d dwarfData) value(ours int64, name string) {
	d.t.Helper()
	theirs, ok := d.values[name]
	if !ok {
		d.t.Errorf("there is no constant %s any more", name)
	}
	d.same(name, int(ours), int(theirs))
}

// TestLayout compares every offset and number that this package has of the
// runtime's with those of the toolchains: a release of Go that moves one of them
// fails here, before anyone reads a program with it.
func TestLayout(t *testing.T) {
	for _, toolchain := range toolchains() {
		for _, arch := range []string{"amd64", "arm64"} {
			t.Run(toolchain+" "+arch, func(t *testing.T) {
				t.Parallel()
				d := readDwarf(t, toolchain, arch)
				// The releases that are tested have the newest layout of goroutines.
				d.goroutines(layouts[0])
				d.modules()
				d.functions()
				d.signals(arch)
			})
		}
	}
}

func (d dwarfData) goroutines(l layout) {
	g := func(field string) int { return d.at("runtime.g", field) }
	gobuf := func(field string) int { return g("sched") + d.at("runtime.gobuf", field) }
	d.same("stack.lo", 0, g("stack")+d.at("runtime.stack", "lo"))
	d.same("stack.hi", 8, g("stack")+d.at("runtime.stack", "hi"))
	d.same("g.m", l.m, g("m"))
	d.same("gobuf.sp", l.sp, gobuf("sp"))
	d.same("gobuf.pc", l.pc, gobuf("pc"))
	d.same("gobuf.g", l.self, gobuf("g"))
	d.same("gobuf.lr", l.lr, gobuf("lr"))
	d.same("gobuf.bp", l.bp, gobuf("bp"))
	d.same("g.syscallsp", l.sysSP, g("syscallsp"))
	d.same("g.syscallpc", l.sysPC, g("syscallpc"))
	d.same("g.syscallbp", l.sysBP, g("syscallbp"))
	d.same("g.atomicstatus", l.status, g("atomicstatus"))
	d.same("g.goid", l.goid, g("goid"))
	d.same("m.procid", l.procid, d.at("runtime.m", "procid"))
	d.same("g.waitreason", l.reason, g("waitreason"))
	d.same("g.trackingSeq", l.seq, g("trackingSeq"))
	d.same("g.parentGoid", l.parent, g("parentGoid"))
	d.same("g.gopc", l.gopc, g("gopc"))
	d.same("g.startpc", l.start, g("startpc"))
	d.same("the end of trackingSeq", l.size, g("trackingSeq")+1)
	d.same("the end of sched", l.stable, g("sched")+int(d.sizes["runtime.gobuf"]))
	d.value(statusRunnable, "runtime._Grunnable")
	d.value(statusRunning, "runtime._Grunning")
	d.value(statusSyscall, "runtime._Gsyscall")
	d.value(statusWaiting, "runtime._Gwaiting")
	d.value(statusDead, "runtime._Gdead")
	d.value(statusCopystack, "runtime._Gcopystack")
	d.value(statusPreempted, "runtime._Gpreempted")
	d.value(statusLeaked, "runtime._Gleaked")
	d.value(statusDeadExtra, "runtime._Gdeadextra")
	d.value(statusScan, "runtime._Gscan")
}

// declared adds the runtime's structures for signals, which a program's DWARF data
// leaves out, from their source.
func (d dwarfData) declared(processor string) {
	root, err := tool(d.version, "env", "GOROOT").Output()
	if err != nil {
		d.t.Fatal(err)
	}
	name := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime", "defs_linux_"+processor+".go")
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, nil, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	// What the file has from others is not needed.
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("runtime", files, []*ast.File{file}, nil)
	for _, name := range []string{"ucontext", "stackt", "sigcontext"} {
		object := pkg.Scope().Lookup(name)
		if object == nil {
			d.t.Errorf("runtime.%s is gone", name)
			continue
		}
		var fields []*types.Var
		structure := object.Type().Underlying().(*types.Struct)
		for f := range structure.Fields() {
			fields = append(fields, f)
		}
		for i, at := range types.SizesFor("gc", processor).Offsetsof(fields) {
			d.offsets["runtime."+name+"."+fields[i].Name()] = at
		}
	}
}

// signals compares what this package has of the kernel's record of a signal with
// what the runtime has of it. In front of that part stands the address to which
// the handler returns, or on arm64 what the signal was.
func (d dwarfData) signals(processor string) {
	d.declared(processor)
	base, frame, regs := 8, signalFrame{}, map[string]int{}
	switch processor {
	case "amd64":
		frame, _ = frameOf(archAMD64)
		regs = map[string]int{"rsp": frame.sp, "rip": frame.pc}
	case "arm64":
		base = 128
		frame, _ = frameOf(archARM64)
		regs = map[string]int{"sp": frame.sp, "pc": frame.pc, "regs": frame.lr - 30*8}
	}
	context := func(field string) int { return base + d.at("runtime.ucontext", field) }
	d.same("ucontext.uc_link", frame.link, context("uc_link"))
	d.same("stackt.ss_sp", frame.stack, context("uc_stack")+d.at("runtime.stackt", "ss_sp"))
	d.same("stackt.ss_size", frame.size, context("uc_stack")+d.at("runtime.stackt", "ss_size"))
	for field, at := range regs {
		d.same("sigcontext."+field, at, context("uc_mcontext")+d.at("runtime.sigcontext", field))
	}
}

func (d dwarfData) modules() {
	i := slices.IndexFunc(moduleLayouts, func(l moduleLayout) bool { return minor(d.version) >= l.since })
	l := moduleLayouts[i]
	for field, number := range map[string]int{
		"pcHeader": 0, "funcnametab": wordFuncnames, "cutab": wordCUs, "filetab": wordFiles, "pctab": wordPCs, "pclntable": wordFunctions,
		"ftab": wordFtab, "minpc": wordMinPC, "maxpc": wordMaxPC, "text": wordText, "etext": wordEText, "bss": wordBSS, "ebss": wordEBSS, "types": wordTypes,
		"etypes": l.etypes, "rodata": l.rodata, "gofunc": l.gofunc,
	} {
		d.same("moduledata."+field, 8*number, d.at("runtime.moduledata", field))
	}
	header := int(d.sizes["runtime.pcHeader"])
	if header < leastHeader || header > mostHeader {
		d.t.Errorf("pcHeader has %d bytes; this package takes %d to %d for likely", header, leastHeader, mostHeader)
	}
	d.same("pcHeader.minLC", 6, d.at("runtime.pcHeader", "minLC"))
	d.same("pcHeader.ptrSize", 7, d.at("runtime.pcHeader", "ptrSize"))
	d.value(int64(Uint32(append(pcMagic[:4:4], 0, 0), 0)), "internal/abi.CurrentPCLnTabMagic")
	d.same("functab", 8, int(d.sizes["runtime.functab"]))
	d.same("functab.funcoff", 4, d.at("runtime.functab", "funcoff"))
}

func (d dwarfData) functions() {
	for field, at := range map[string]int{
		"entryOff": 0, "nameOff": funcName, "pcsp": funcPCSP, "pcfile": funcPCFile, "pcln": funcPCLine, "npcdata": funcNPCData,
		"cuOffset": funcCU, "startLine": funcStart, "flag": funcFlag, "nfuncdata": funcNFunData,
	} {
		d.same("_func."+field, at, d.at("runtime._func", field))
	}
	d.same("_func", funcSize, int(d.sizes["runtime._func"]))
	d.value(flagTop, "internal/abi.FuncFlagTopFrame")
	d.value(pcdataInline, "internal/abi.PCDATA_InlTreeIndex")
	d.value(inlineTree, "internal/abi.FUNCDATA_InlTree")
	d.same("inlinedCall", inlineSize, int(d.sizes["runtime.inlinedCall"]))
	d.same("inlinedCall.nameOff", inlineName, d.at("runtime.inlinedCall", "nameOff"))
	d.same("inlinedCall.parentPc", inlineParent, d.at("runtime.inlinedCall", "parentPc"))
	d.same("inlinedCall.startLine", inlineStart, d.at("runtime.inlinedCall", "startLine"))
	d.same("Type", typeSize, int(d.sizes["internal/abi.Type"]))
	d.same("Type.TFlag", typeFlags, d.at("internal/abi.Type", "TFlag"))
	d.same("Type.Str", typeName, d.at("internal/abi.Type", "Str"))
	d.value(extraStar, "internal/abi.TFlagExtraStar")
}
