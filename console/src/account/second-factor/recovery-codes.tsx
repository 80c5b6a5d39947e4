// Recovery codes, shown once: they live in the state of their dialog and nowhere else.

import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Dialog, DialogActions } from '../../ui/dialog.tsx'

const GUARD = 'You have not kept the codes. They cannot be shown again.'
const FILE_NAME = 'svc-recovery-codes.txt'

type CodesProps = { codes: readonly string[]; lead?: string; onClose: () => void }

export function RecoveryCodes({ codes, lead, onClose }: CodesProps) {
  const [is_kept, setKept] = useState(false)
  const keep = () => setKept(true)
  const file = `Recovery codes of ${location.host}\nEach signs you in once, with your password.\n\n${codes.join('\n')}\n`
  return (
    <Dialog title="Your recovery codes" onClose={onClose} guard={is_kept ? undefined : GUARD}>
      {lead !== undefined && <p>{lead}</p>}
      <p>
        Keep them where you find them without your device. Each signs you in once, with your
        password. They cannot be shown again.
      </p>
      <ol className="codes" aria-label="Recovery codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ol>
      <div className="row">
        <a
          className="button primary"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(file)}`}
          download={FILE_NAME}
          onClick={keep}
        >
          Download as text
        </a>
        <CopyButton text={codes.join('\n')} label="Copy the codes" onCopied={keep} />
      </div>
      <DialogActions>
        <Button kind={is_kept ? 'primary' : 'plain'} onClick={is_kept ? onClose : keep}>
          {is_kept ? 'Done' : 'I have written them down'}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
