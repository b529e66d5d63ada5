package main

import (
	"bufio"
	"context"
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

// serve is the process of the server. It prints its address, and ends when its input does.
func serve(f form, objects int, streams bool) error {
	others := fakeapi.New(fakeapi.Options{NoLog: true, Kinds: []fakeapi.Kind{
		{Group: widgetKind.Group, Version: widgetKind.Version, Kind: widgetKind.Kind},
	}})
	defer others.Close()
	c, err := newCollection(f, objects, streams, others)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	fmt.Println("http://" + listener.Addr().String())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// startServer starts such a process, and returns its address and what stops it.
func startServer(ctx context.Context, f form, objects int, way string) (url string, stop func() error, err error) {
	command, err := self(ctx, "-part", "serve", "-form", f.name, "-objects", fmt.Sprint(objects), "-way", way)
	if err != nil {
		return "", nil, err
	}
	alive, err := command.StdinPipe()
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
		_ = alive.Close()
		return command.Wait()
	}
	line, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the server didn't start: %w", stop())
	}
	return strings.TrimSpace(line), stop, nil
}

// self is this program once more.
func self(ctx context.Context, arguments ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stderr, command.WaitDelay = os.Stderr, 10*time.Second
	return command, nil
}
