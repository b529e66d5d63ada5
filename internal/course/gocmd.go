package course

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// goCommand prepares the go command in the root of the tree.
func (r *Repo) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	return r.command(ctx, "go", args...)
}

// command prepares a command in the root of the tree. When ctx ends, its whole
// process group is killed: the command's own children (compilers, test binaries)
// would otherwise go on.
func (r *Repo) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.Root
	cmd.Env = append(os.Environ(), r.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// endGroup ends what a command has started and left behind, once it has ended itself.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // as a rule there is nothing left
	}
}

// goOutput runs the go command and returns what it wrote to its standard
// output, next to an error that holds what it wrote to the other.
func (r *Repo) goOutput(ctx context.Context, args ...string) ([]byte, error) {
	var out, errOut bytes.Buffer
	cmd := r.goCommand(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.Bytes(), nil
}

// goRun runs the go command with its output sent to w. The error says only
// which step failed: w has the rest.
func (r *Repo) goRun(ctx context.Context, w io.Writer, args ...string) error {
	cmd := r.goCommand(ctx, args...)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args[0], err)
	}
	return nil
}
