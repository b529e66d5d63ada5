package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// serve is the process of the server. It prints its address.
func serve(f form, objects int) error {
	others := fakeapi.New(fakeapi.Options{NoLog: true, Kinds: []fakeapi.Kind{
		{Group: widgetKind.Group, Version: widgetKind.Version, Kind: widgetKind.Kind},
	}})
	defer others.Close()
	c, err := newCollection(f, objects, others)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	fmt.Println("http://" + listener.Addr().String())
	return server.Serve(listener)
}

// startServer starts such a process, and returns its address and what stops it.
func startServer(ctx context.Context, f form, objects int) (url string, stop func() error, err error) {
	command, end, err := self(ctx, "-part", "serve", "-form", f.name, "-objects", fmt.Sprint(objects))
	if err != nil {
		return "", nil, err
	}
	printed, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		return errors.Join(end.Close(), command.Wait())
	}
	line, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the server didn't start: %w", stop())
	}
	return strings.TrimSpace(line), stop, nil
}

// self is this program once more. Closing end ends it.
func self(ctx context.Context, arguments ...string) (command *exec.Cmd, end io.Closer, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	command = exec.CommandContext(ctx, program, arguments...)
	command.Stderr, command.WaitDelay = os.Stderr, 10*time.Second
	command.Env = append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off") // Go's own, for every side
	end, err = command.StdinPipe()
	return command, end, err
}

// endWithParent ends this process when its input ends: when the command is done with it, or was killed itself.
func endWithParent() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}
