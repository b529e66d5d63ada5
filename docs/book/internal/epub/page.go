package epub

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// book is what its pages have in common.
type book struct {
	Options
	inside   map[string]string // the pages that are in the file, and their names there
	pictures map[string]bool   // that they show
}

// pageOf is the page that an entry of the menu leads to.
func pageOf(link string) string {
	link = strings.TrimPrefix(link, "/")
	if link == "" || strings.HasSuffix(link, "/") {
		return link + "index.html"
	}
	return link + ".html"
}

// page returns a page as XHTML, and whether there's a diagram in it.
func (b *book) page(name, title string) (text []byte, drawn bool, err error) {
	source, err := os.ReadFile(filepath.Join(b.Pages, filepath.FromSlash(strings.TrimSuffix(name, ".html")+".md")))
	if err != nil {
		return nil, false, err
	}
	parts := strings.SplitN(string(source), "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		return nil, false, errors.New("the page has no front matter")
	}
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(parts[2]), body)
	if err != nil {
		return nil, false, err
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	for _, n := range slices.Collect(body.Descendants()) {
		switch {
		case n.Type == html.CommentNode || n.Type == html.ElementNode && ofTheSite(n):
			n.Parent.RemoveChild(n)
		case n.Type == html.ElementNode:
			drawn = drawn || n.Data == "svg"
			if err := b.change(n, name); err != nil {
				return nil, false, err
			}
		}
	}
	up := strings.Repeat("../", strings.Count(name, "/"))
	var out bytes.Buffer
	fmt.Fprintf(&out, `<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">
<head><title>%s</title><link rel="stylesheet" type="text/css" href="%sstyle.css"/></head>
`, html.EscapeString(title), up)
	if err := html.Render(&out, body); err != nil {
		return nil, false, err
	}
	out.WriteString("\n</html>\n")
	return out.Bytes(), drawn, nil
}

// ofTheSite reports whether an element does something only in a browser.
func ofTheSite(n *html.Node) bool {
	switch class := attribute(n, "class"); n.Data {
	case "a":
		return class == "header-anchor"
	case "button", "script", "style", "loop-run":
		return true
	case "span":
		return class == "lang"
	}
	return false
}

// change makes an element of a page one of the file.
func (b *book) change(n *html.Node, name string) error {
	switch n.Data {
	case "a":
		return b.link(n, name)
	case "img":
		at := path.Join(path.Dir(name), attribute(n, "src"))
		b.pictures[at] = true
	case "svg":
		colors(n)
	case "loop-figure": // a picture that can be tried; here it's the picture
		n.Data, n.DataAtom = "div", atom.Div
		n.Attr = nil
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		return a.Key == "v-pre" || a.Key == "tabindex" || strings.HasPrefix(a.Key, "data-")
	})
	return nil
}

// link keeps a link in the file, or makes it one to the published book.
func (b *book) link(n *html.Node, name string) error {
	for i, a := range n.Attr {
		if a.Key != "href" {
			continue
		}
		to, err := url.Parse(a.Val)
		if err != nil {
			return err
		}
		if to.IsAbs() || to.Path == "" {
			continue
		}
		at := path.Join(path.Dir(name), to.Path)
		page, here := b.inside[at]
		if !here {
			n.Attr[i].Val = b.Published + "/" + at + fragment(to)
			continue
		}
		relative, err := filepath.Rel(path.Dir(name), page)
		if err != nil {
			return err
		}
		n.Attr[i].Val = filepath.ToSlash(relative) + fragment(to)
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "target" })
	return nil
}

func fragment(u *url.URL) string {
	if u.Fragment == "" {
		return ""
	}
	return "#" + u.EscapedFragment()
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
