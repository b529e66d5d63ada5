// The elements that a page can use: <loop-cluster> is a cluster that runs, and <loop-run
// program="06-queue"> a chapter's program.

import '../../../xray/web/src/style.css'
import './style.css'
import './loopcluster'
import './run.css'
import './run'
