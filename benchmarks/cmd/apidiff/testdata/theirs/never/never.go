// Package never is not planned.
package never
