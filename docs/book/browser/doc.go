// Package browser has the tests of the book that need a browser: each page is built
// as readers get it, and loaded as they load it.
//
// BOOK=DIR takes a book that is built already, which saves a minute while one works on a test.
// BOOK_SCREENSHOTS=DIR keeps pictures of some pages.
package browser
