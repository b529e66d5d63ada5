package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/creack/pty"
)

// promptMark is what a shell writes before each prompt, for terminals that want to know (OSC 133;A). No screen shows it.
const promptMark = "\x1b]133;A\a"

// How the film runs. What the machine takes is cut to longestWait, and what a viewer needs to read is added.
const (
	perKey      = 35 * time.Millisecond
	beforeEnter = 250 * time.Millisecond
	longestWait = 400 * time.Millisecond // unless a step says otherwise
	patience    = 10 * time.Minute       // for a command; the first one compiles
)

// step is a command, and what happens around it.
type step struct {
	command string
	before  func() error  // when the command was typed, before it runs: an editor saves a file
	read    time.Duration // how long a viewer needs for what the command says
	wait    time.Duration // in the place of longestWait, where there is something to read meanwhile
}

// session is a shell on a terminal of its own, and the film of it.
type session struct {
	terminal *os.File
	output   <-chan []byte // what the terminal shows, closed when the shell has ended
	screen   *screen
	film     film
	now      time.Duration // in the film
	prompts  int           // so far
	tail     []byte        // of the output: a mark may arrive in two pieces
}

// record types the steps into a shell in dir, and films what its terminal shows.
func record(ctx context.Context, dir string, env []string, width, height int, steps []step) (*film, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-i")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "ENV=", "BASH_SILENCE_DEPRECATION_WARNING=1", "PS1="+promptMark+"\x1b[32m$\x1b[0m ")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)})
	if err != nil {
		return nil, fmt.Errorf("starting a shell on a terminal: %w", err)
	}
	output := make(chan []byte) // unbuffered: read in step with the film, or when the session ends
	done := make(chan struct{})
	defer func() {
		close(done)
		terminal.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	go func() {
		defer close(output)
		buffer := make([]byte, 32<<10)
		for {
			n, err := terminal.Read(buffer)
			if err != nil {
				return
			}
			select {
			case output <- bytes.Clone(buffer[:n]):
			case <-done:
				return
			}
		}
	}()
	s := &session{terminal: terminal, output: output, screen: newScreen(width, height), film: film{width: width, height: height}}
	if err := s.untilPrompt(ctx, 1, 0); err != nil {
		return nil, err
	}
	s.now, s.film.frames = 0, nil // how long a shell takes to start is no part of it
	s.frame()
	for _, next := range steps {
		if err := s.play(ctx, next); err != nil {
			return nil, fmt.Errorf("recording %q: %w", next.command, err)
		}
	}
	return &s.film, nil
}

func (s *session) play(ctx context.Context, next step) error {
	s.wait(2 * beforeEnter)
	for _, key := range next.command {
		if err := s.send(ctx, string(key)); err != nil {
			return err
		}
		s.wait(perKey)
	}
	if next.before != nil {
		if err := next.before(); err != nil {
			return err
		}
	}
	s.wait(beforeEnter)
	prompts := s.prompts
	if _, err := s.terminal.WriteString("\r"); err != nil {
		return err
	}
	if err := s.untilPrompt(ctx, prompts+1, cmp.Or(next.wait, longestWait)); err != nil {
		return err
	}
	s.wait(next.read)
	return nil
}

// send types a key, and waits until the terminal shows it, which takes no time in the film.
func (s *session) send(ctx context.Context, key string) error {
	if _, err := s.terminal.WriteString(key); err != nil {
		return err
	}
	return s.receive(ctx, 0)
}

// untilPrompt films what a command writes, until the shell asks for the next one. Each wait is cut to most, and that for
// the first output, before which there is nothing to read, to longestWait.
func (s *session) untilPrompt(ctx context.Context, prompts int, most time.Duration) error {
	begin := len(s.tail)
	for s.prompts < prompts || !s.isIdle() {
		limit := most
		if len(bytes.TrimSpace(s.tail[min(begin, len(s.tail)):])) == 0 {
			limit = min(most, longestWait)
		}
		if err := s.receive(ctx, limit); err != nil {
			return err
		}
	}
	return nil
}

// isIdle reports whether the prompt is there as a whole.
func (s *session) isIdle() bool { return bytes.HasSuffix(s.tail, []byte(" ")) }

// receive waits for a piece of output, and films the screen that has it. In the film, it does not take longer than most.
func (s *session) receive(ctx context.Context, most time.Duration) error {
	begin := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case piece, ok := <-s.output:
		if !ok {
			return errors.New("the shell has ended")
		}
		s.now += min(time.Since(begin), most)
		s.tail = append(s.tail, piece...)
		s.prompts += bytes.Count(s.tail, []byte(promptMark))
		if at := bytes.LastIndex(s.tail, []byte(promptMark)); at >= 0 {
			s.tail = s.tail[at+len(promptMark):]
		}
		s.screen.write(piece)
		s.frame()
	}
	return nil
}

func (s *session) frame() {
	lines, cursor := s.screen.look()
	s.film.add(frame{at: s.now, lines: lines, cursor: cursor})
}

// wait lets time pass in the film, and none on this machine.
func (s *session) wait(length time.Duration) {
	s.now += length
	s.film.end = s.now
}
