// What VitePress's scripts do on a server, for a book that is read from a folder:
// the search, the switch for dark, the menu on a phone, the outline, and copying.
// A classic script, without a build: no module can be loaded from a folder.
(function () {
  'use strict'
  var book = window.loopwrightBook
  var here = document.currentScript.src.replace(/[^/]*$/, '') // .../book/
  var base = document.currentScript.dataset.base
  var page = document.documentElement

  function all(selector, each) { document.querySelectorAll(selector).forEach(each) }
  function make(tag, className, text) {
    var element = document.createElement(tag)
    element.className = className || ''
    if (text) element.textContent = text
    return element
  }

  page.classList.add('from-folder')

  // Dark: VitePress's own key, so that both remember the same.
  function switchesDark(button) {
    button.addEventListener('click', function () {
      var dark = page.classList.toggle('dark')
      button.setAttribute('aria-checked', String(dark))
      try { localStorage.setItem('vitepress-theme-appearance', dark ? 'dark' : 'light') } catch (_) { /* not kept */ }
    })
  }
  all('.VPSwitchAppearance', switchesDark)

  // The menu marks the page that is shown, and unfolds its part.
  all('.VPSidebar a', function (link) {
    if (link.href.replace(/#.*/, '') !== location.href.replace(/[?#].*/, '')) return
    for (var item = link.closest('.VPSidebarItem'); item; item = item.parentElement.closest('.VPSidebarItem')) {
      if (item === link.closest('.VPSidebarItem')) item.classList.add('is-active')
      item.classList.remove('collapsed')
    }
  })
  book.place()

  // The menu on a phone, and parts of it that fold.
  var sidebar = document.querySelector('.VPSidebar')
  var curtain = make('div', 'folder-curtain')
  curtain.hidden = true
  document.body.appendChild(curtain)
  function menu(open) {
    if (!sidebar) return
    sidebar.classList.toggle('open', open)
    curtain.hidden = !open
    all('.VPLocalNav .menu', function (button) { button.setAttribute('aria-expanded', String(open)) })
    if (open) sidebar.focus()
  }
  curtain.addEventListener('click', function () { menu(false) })
  all('.VPLocalNav .menu', function (button) { button.addEventListener('click', function () { menu(true) }) })
  all('.VPNavBarHamburger', function (button) {
    button.addEventListener('click', function () { screen(button) })
  })
  all('.VPSidebarItem.collapsible', function (part) {
    var row = part.querySelector(':scope > .item')
    if (row) row.addEventListener('click', function () { part.classList.toggle('collapsed') })
  })

  // The bar's own menu: what a phone has no room for in the bar.
  function screen(button) {
    var old = document.querySelector('.folder-screen')
    button.setAttribute('aria-expanded', String(!old))
    button.classList.toggle('active', !old)
    if (old) return old.remove()
    var panel = make('nav', 'folder-screen')
    all('.VPNavBarMenu a', function (link) {
      var copy = make('a', '', link.textContent)
      copy.href = link.href
      copy.addEventListener('click', function () { screen(button) }) // it may lead to a heading of this page
      panel.appendChild(copy)
    })
    var look = document.querySelector('.VPNavBarAppearance .VPSwitchAppearance')
    if (look) {
      var row = make('div', 'folder-look', 'Appearance')
      var copied = look.cloneNode(true)
      switchesDark(copied)
      row.appendChild(copied)
      panel.appendChild(row)
    }
    document.body.appendChild(panel)
  }

  // The outline: VitePress makes it in the browser, too.
  var outline = document.querySelector('.VPDocAsideOutline')
  if (outline) {
    var list = outline.querySelector('ul')
    var scope = outline.getAttributeNames().filter(function (name) { return /^data-v-/.test(name) })
    all('.vp-doc h2[id], .vp-doc h3[id]', function (heading) {
      var row = make('li', 'folder-' + heading.tagName.toLowerCase())
      var link = make('a', 'outline-link', heading.textContent.replace(/\u200B/g, '').trim())
      link.href = '#' + heading.id
      scope.forEach(function (name) { link.setAttribute(name, '') })
      row.appendChild(link)
      if (list) list.appendChild(row)
    })
    if (list && list.children.length) outline.classList.add('has-outline')
  }

  // Copying: from a folder the clipboard may be closed to scripts, but a selection is not.
  all('.vp-doc button.copy', function (button) {
    button.addEventListener('click', function () {
      var range = document.createRange()
      range.selectNodeContents(button.parentElement.querySelector('pre'))
      var selection = getSelection()
      selection.removeAllRanges()
      selection.addRange(range)
      if (document.execCommand('copy')) button.classList.add('copied')
      selection.removeAllRanges()
      setTimeout(function () { button.classList.remove('copied') }, 2000)
    })
  })

  // Search: VitePress's index, its settings, and the library that it searches with.
  var settings = window.__VP_SITE_DATA__.themeConfig.search.options.miniSearch
  var index
  function ready() {
    return index || (index = book.load(here + 'minisearch.js').then(function () {
      return book.load(here + 'search-index.js')
    }).then(function () {
      return window.MiniSearch.loadJSON(window.loopwrightSearchIndex, {
        fields: ['title', 'titles', 'text'], storeFields: settings.options.storeFields, searchOptions: settings.searchOptions
      })
    }))
  }
  function address(id) {
    var hash = id.indexOf('#')
    var at = (hash < 0 ? id : id.slice(0, hash)).slice(base.length)
    return here + '../' + (at === '' || /\/$/.test(at) ? at + 'index.html' : at + '.html') + (hash < 0 ? '' : id.slice(hash))
  }
  // The index has the text of a page's HTML, with its entities.
  function text(html) { return new DOMParser().parseFromString(html || '', 'text/html').body.textContent }
  var box
  function search() {
    if (box) { box.showModal(); return }
    box = make('dialog', 'folder-search')
    var input = make('input')
    input.type = 'search'
    input.placeholder = 'Search'
    input.setAttribute('aria-label', 'Search the book')
    var results = make('ul')
    box.append(input, results)
    document.body.appendChild(box)
    box.addEventListener('click', function (event) { if (event.target === box || event.target.closest('a')) box.close() })
    input.addEventListener('input', function () {
      ready().then(function (found) {
        results.textContent = ''
        var hits = found.search(input.value)
        if (!hits.length && input.value.trim()) results.append(make('li', 'folder-nothing', 'No results for “' + input.value + '”'))
        hits.slice(0, 16).forEach(function (hit) {
          var row = make('li')
          var link = make('a')
          link.href = address(hit.id)
          link.append(make('span', 'folder-where', text(hit.titles.join(' › '))), make('span', 'folder-title', text(hit.title)), make('span', 'folder-excerpt', text(hit.start)))
          row.appendChild(link)
          results.appendChild(row)
        })
      })
    })
    input.addEventListener('keydown', function (event) {
      var first = results.querySelector('a')
      if (event.key === 'Enter' && first) first.click()
    })
    box.showModal()
  }
  all('.VPNavBarSearchButton, .DocSearch-Button', function (button) { button.addEventListener('click', search) })
  document.addEventListener('keydown', function (event) {
    var typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)
    if ((event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !typing)) {
      event.preventDefault()
      search()
    }
  })
})()
